package dev.sumac.simulation;

import dev.sumac.transport.DatagramListener;
import dev.sumac.transport.Outbox;
import dev.sumac.transport.PacketNetwork;
import dev.sumac.transport.UdpEndpoint;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A socket with its thread, in virtual time: what {@link UdpEndpoint} is in a process. Packets wait
 * in a bounded receive buffer until the thread wakes up, are handed over joined or one by one, and
 * the listener's turn follows. A paused node does nothing until its pause ends; a crashed one does
 * nothing for ever. Not thread-safe.
 */
final class Node implements PacketNetwork {
  private static final int QUIET_TICKS = 40;

  /** A packet in the receive buffer. */
  private static final class Datagram {
    final byte[] bytes;
    final InetSocketAddress source;

    Datagram(byte[] bytes, InetSocketAddress source) {
      this.bytes = bytes;
      this.source = source;
    }
  }

  private final String name;
  private final InetSocketAddress address;
  private final EventQueue events;
  private final VirtualNetwork network;
  private final SplittableRandom random;
  private final long wakeUpNs;
  private final int receiveBufferBytes;
  private final ArrayDeque<Datagram> arrived = new ArrayDeque<>();
  private final UnsafeBuffer view = new UnsafeBuffer(0, 0);
  private final Runnable turn = this::turn;
  private final Runnable tick = this::tick;

  private DatagramListener listener;
  private int arrivedBytes;
  private boolean isTurnDue;
  private boolean isTickDue;
  private int quietTicks;
  private boolean isCrashed;
  private long pausedUntilNs;
  private long overflows;

  /**
   * @param wakeUpNs longest time from a packet's arrival to the thread's turn
   * @param receiveBufferBytes what may wait for the thread
   */
  Node(
      String name,
      InetSocketAddress address,
      EventQueue events,
      VirtualNetwork network,
      SplittableRandom random,
      long wakeUpNs,
      int receiveBufferBytes) {
    this.name = name;
    this.address = address;
    this.events = events;
    this.network = network;
    this.random = random;
    this.wakeUpNs = wakeUpNs;
    this.receiveBufferBytes = receiveBufferBytes;
    network.attach(this);
  }

  /** Who takes what arrives. */
  void listener(DatagramListener who) {
    listener = who;
  }

  String name() {
    return name;
  }

  InetSocketAddress address() {
    return address;
  }

  /** Packets that found the receive buffer full. */
  long overflows() {
    return overflows;
  }

  boolean isCrashed() {
    return isCrashed;
  }

  /** Nothing happens here any more; what waits is gone. */
  void crash() {
    isCrashed = true;
    arrived.clear();
  }

  /** Nothing happens here until then; what arrives waits. */
  void pause(long untilNs) {
    pausedUntilNs = Math.max(pausedUntilNs, untilNs);
  }

  /** Whether it ever was paused. */
  boolean wasPaused() {
    return pausedUntilNs > 0;
  }

  /** A packet arrives. */
  void deliver(byte[] bytes, InetSocketAddress source) {
    if (isCrashed) {
      return;
    }
    if (arrivedBytes + bytes.length > receiveBufferBytes) {
      overflows++;
      return;
    }
    arrivedBytes += bytes.length;
    arrived.add(new Datagram(bytes, source));
    wakeUp();
  }

  /** Makes a turn soon. */
  void wakeUp() {
    if (!isTurnDue) {
      isTurnDue = true;
      events.after(1 + random.nextLong(wakeUpNs), turn);
    }
  }

  /** Runs a task on the node's thread, in order with other tasks handed over with this delay. */
  void execute(long delayNs, Runnable task) {
    events.after(delayNs, () -> runOrWait(task));
  }

  private void runOrWait(Runnable task) {
    if (isCrashed) {
      return;
    }
    if (events.nowNs() < pausedUntilNs) {
      events.at(pausedUntilNs, () -> runOrWait(task));
      return;
    }
    task.run();
    endTurn();
  }

  private void turn() {
    if (isCrashed) {
      return;
    }
    if (events.nowNs() < pausedUntilNs) {
      events.at(pausedUntilNs, turn);
      return;
    }
    isTurnDue = false;
    quietTicks = 0;
    while (!arrived.isEmpty()) {
      handOver();
    }
    endTurn();
  }

  /** The kernel joins neighbouring packets of one sender, or does not. */
  private void handOver() {
    Datagram first = arrived.poll();
    int length = first.bytes.length;
    byte[] bytes = first.bytes;
    while (!arrived.isEmpty()
        && arrived.peek().source.equals(first.source)
        && random.nextInt(4) > 0) {
      byte[] next = arrived.poll().bytes;
      byte[] joined = Arrays.copyOf(bytes, length + next.length);
      System.arraycopy(next, 0, joined, length, next.length);
      bytes = joined;
      length = joined.length;
    }
    arrivedBytes -= length;
    view.wrap(bytes);
    listener.onDatagram(view, 0, length, first.source, events.nowNs());
  }

  private void tick() {
    if (isCrashed) {
      return;
    }
    if (events.nowNs() < pausedUntilNs) {
      events.at(pausedUntilNs, tick);
      return;
    }
    isTickDue = false;
    quietTicks++;
    endTurn();
  }

  private void endTurn() {
    boolean timeMatters = listener.onTurn(events.nowNs());
    if (timeMatters && !isTickDue) {
      isTickDue = true;
      events.after(quietTicks < QUIET_TICKS ? UdpEndpoint.TICK_NS : UdpEndpoint.MAX_TICK_NS, tick);
    }
  }

  @Override
  public Outbox outbox(List<InetSocketAddress> receivers) {
    return new NodeOutbox(List.copyOf(receivers));
  }

  /** Sends each packet when it is complete. */
  private final class NodeOutbox implements Outbox {
    private final List<InetSocketAddress> receivers;
    private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[256]);
    private int claimedBytes;

    NodeOutbox(List<InetSocketAddress> receivers) {
      this.receivers = receivers;
    }

    @Override
    public int claim(int packetBytes) {
      if (packetBytes > buffer.capacity()) {
        buffer.wrap(new byte[packetBytes]);
      }
      claimedBytes = packetBytes;
      return 0;
    }

    @Override
    public MutableDirectBuffer buffer() {
      return buffer;
    }

    @Override
    public void commit() {
      network.send(Node.this, receivers, buffer, claimedBytes);
    }
  }
}
