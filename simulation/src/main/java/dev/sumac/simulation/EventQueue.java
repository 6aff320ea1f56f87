package dev.sumac.simulation;

import java.util.PriorityQueue;

/**
 * Virtual time: what happens next, and when. Events of one moment happen in the order in which they
 * were scheduled, so that a schedule is the same in every run. Not thread-safe.
 */
final class EventQueue {
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private long nowNs;
  private long scheduled;

  private record Event(long atNs, long order, Runnable action) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      return atNs != other.atNs ? Long.compare(atNs, other.atNs) : Long.compare(order, other.order);
    }
  }

  /** Virtual time, ns from the start. */
  long nowNs() {
    return nowNs;
  }

  /** Schedules an action; one in the past happens next. */
  void at(long atNs, Runnable action) {
    events.add(new Event(Math.max(atNs, nowNs), scheduled++, action));
  }

  void after(long delayNs, Runnable action) {
    at(nowNs + delayNs, action);
  }

  /** Lets the next event happen. False when there is none. */
  boolean step() {
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    nowNs = event.atNs();
    event.action().run();
    return true;
  }
}
