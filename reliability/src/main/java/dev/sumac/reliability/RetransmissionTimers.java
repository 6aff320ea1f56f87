package dev.sumac.reliability;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.agrona.DeadlineTimerWheel;
import org.agrona.collections.Long2LongHashMap;

/**
 * One timer for each slot, on Agrona's timer wheel. Not thread-safe; allocates nothing once every
 * slot has had its timer.
 *
 * <p>A timer is armed when its slot is first used and then only asked again when it fires: {@link
 * Handler#onTimer} answers when it wants to be called next. So the stream of results costs no timer
 * work at all.
 */
public final class RetransmissionTimers {
  /** Answer of a handler that wants its timer no more. */
  public static final long DISARM = Long.MIN_VALUE;

  private static final long TICK_NS = 1 << 17;
  private static final int TICKS_PER_WHEEL = 512;
  private static final long NO_SLOT = -1;
  private static final long NEVER = Long.MAX_VALUE;

  /** What happens when a slot's timer fires. */
  @FunctionalInterface
  public interface Handler {
    /** Returns when to fire next, or {@link #DISARM}. */
    long onTimer(int slot, long nowNs);
  }

  private final Long2LongHashMap slotOfTimer = new Long2LongHashMap(NO_SLOT);
  private final boolean[] armed;
  private final int[] fired;
  private final long[] deadlines;
  private final Handler handler;
  private final DeadlineTimerWheel.TimerHandler collect = this::collect;
  private DeadlineTimerWheel wheel;
  private int firedCount;
  private long earliestNs = NEVER;

  public RetransmissionTimers(int slots, Handler handler) {
    this.armed = new boolean[slots];
    this.fired = new int[slots];
    this.deadlines = new long[slots];
    Arrays.fill(deadlines, NEVER);
    this.handler = handler;
  }

  /** Makes sure that the slot's timer runs; one that runs already keeps its deadline. */
  public void arm(int slot, long deadlineNs, long nowNs) {
    if (!armed[slot]) {
      armed[slot] = true;
      schedule(slot, deadlineNs, nowNs);
    }
  }

  /** Fires what is due, earlier ticks first. */
  public void poll(long nowNs) {
    // A wheel is walked tick by tick, empty ones too: a worker that only waits must not pay for
    // that.
    if (wheel == null || wheel.timerCount() == 0 || nowNs < earliestNs) {
      return;
    }
    firedCount = 0;
    boolean behind;
    do {
      // One poll serves one tick: the one that nowNs is in comes last, and is served too.
      behind = wheel.currentTickTime() <= nowNs;
      wheel.poll(nowNs, collect, Integer.MAX_VALUE);
    } while (behind && wheel.timerCount() > 0);
    earliestNs = NEVER;
    for (long deadlineNs : deadlines) {
      earliestNs = Math.min(earliestNs, deadlineNs);
    }
    for (int i = 0; i < firedCount; i++) {
      int slot = fired[i];
      long nextNs = handler.onTimer(slot, nowNs);
      if (nextNs == DISARM) {
        armed[slot] = false;
      } else {
        schedule(slot, nextNs, nowNs);
      }
    }
  }

  /** Whether any timer runs. */
  public boolean isAnyArmed() {
    return wheel != null && wheel.timerCount() > 0;
  }

  /** Disarms all timers. */
  public void clear() {
    Arrays.fill(armed, false);
    Arrays.fill(deadlines, NEVER);
    earliestNs = NEVER;
    slotOfTimer.clear();
    if (wheel != null) {
      wheel.clear();
    }
  }

  private void schedule(int slot, long deadlineNs, long nowNs) {
    if (wheel == null) {
      wheel = new DeadlineTimerWheel(TimeUnit.NANOSECONDS, nowNs, TICK_NS, TICKS_PER_WHEEL);
    } else if (wheel.timerCount() == 0) {
      wheel.resetStartTime(nowNs);
    }
    deadlines[slot] = Math.max(deadlineNs, nowNs);
    earliestNs = Math.min(earliestNs, deadlines[slot]);
    slotOfTimer.put(wheel.scheduleTimer(deadlines[slot]), slot);
  }

  @SuppressWarnings("UnusedVariable")
  private boolean collect(TimeUnit unit, long nowNs, long timerId) {
    int slot = (int) slotOfTimer.remove(timerId);
    deadlines[slot] = NEVER;
    fired[firedCount++] = slot;
    return true;
  }
}
