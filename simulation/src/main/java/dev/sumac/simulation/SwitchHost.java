package dev.sumac.simulation;

import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.dataplane.SwitchCore;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.agrona.DirectBuffer;

/**
 * The host of the switch: the real {@link SwitchCore} on virtual sockets. It can crash and start
 * again at the same addresses, as a new boot that knows nothing. Not thread-safe.
 */
final class SwitchHost {
  private static final int FIRST_PORT = 5_170;
  private static final long TICK_NS = Plan.SECOND;
  private static final long HAND_OVER_NS = 50_000;

  private final EventQueue events;
  private final VirtualNetwork network;
  private final SplittableRandom random;
  private final SwitchConfig config;
  private final int receiveBufferBytes;
  private final int firstRun;
  private final long firstChunk;
  private final List<Node> shards = new ArrayList<>();
  private final List<ControlStream> streams = new ArrayList<>();
  private final InetAddress address;
  private SwitchCore core;
  private Node control;
  private long boot;

  SwitchHost(
      EventQueue events,
      VirtualNetwork network,
      SplittableRandom random,
      SwitchConfig config,
      Plan plan) {
    this.events = events;
    this.network = network;
    this.random = random;
    this.config = config;
    this.receiveBufferBytes = plan.receiveBufferBytes;
    this.firstRun = plan.firstRun;
    this.firstChunk = plan.firstChunk;
    this.address = hostAddress(0);
    start();
  }

  /** Address of a host: 0 is the switch, {@code rank + 1} a worker. */
  static InetAddress hostAddress(int host) {
    try {
      return InetAddress.getByAddress(new byte[] {10, 0, (byte) (host >> 8), (byte) host});
    } catch (UnknownHostException e) {
      throw new AssertionError("four bytes are an address", e);
    }
  }

  InetAddress address() {
    return address;
  }

  /** The core of the present boot. */
  SwitchCore core() {
    return core;
  }

  List<Node> shards() {
    return shards;
  }

  Node control() {
    return control;
  }

  boolean isUp() {
    return !control.isCrashed();
  }

  /** Takes a worker's call. */
  void accept(ControlStream stream) {
    streams.removeIf(ControlStream::isOver);
    streams.add(stream);
    stream.open(core, control);
  }

  /** The process is gone; workers learn it from their connections after so long. */
  void crash(long noticedAfterNs) {
    shards.forEach(Node::crash);
    control.crash();
    streams.forEach(stream -> stream.breakOff(noticedAfterNs));
    streams.clear();
  }

  /** The process does nothing until then. */
  void pause(long untilNs) {
    shards.forEach(shard -> shard.pause(untilNs));
    control.pause(untilNs);
  }

  /** Breaks every connection, as keep-alive does after a long silence. */
  void breakConnections() {
    streams.forEach(stream -> stream.breakOff(0));
    streams.clear();
  }

  /** Starts a new process at the same addresses. */
  void start() {
    shards.clear();
    control = node("control", 1);
    control.listener(new Nobody());
    core = new SwitchCore(config, random.split(), new Shell());
    List<Integer> ports = new ArrayList<>();
    for (int i = 0; i < config.shards(); i++) {
      Node shard = node("switch/" + i, FIRST_PORT + i);
      shard.listener(core.addShard(shard));
      shards.add(shard);
      ports.add(FIRST_PORT + i);
    }
    core.open(++boot, receiveBufferBytes, ports);
    core.startAt(firstRun + (int) boot, firstChunk);
    tick(core, control);
  }

  private void tick(SwitchCore ofBoot, Node onControl) {
    onControl.execute(
        TICK_NS,
        () -> {
          ofBoot.onTick(events.nowNs());
          tick(ofBoot, onControl);
        });
  }

  private Node node(String name, int port) {
    return new Node(
        name,
        new InetSocketAddress(address, port),
        events,
        network,
        random.split(),
        20_000,
        receiveBufferBytes);
  }

  /** The process around the core. */
  private final class Shell implements SwitchCore.Shell {
    private final Node onControl = control;
    private long lastNs;

    @Override
    public void onControl(Runnable task) {
      // Another thread takes over a little later; order is kept.
      lastNs = Math.max(lastNs, events.nowNs() + random.nextLong(HAND_OVER_NS));
      onControl.execute(lastNs - events.nowNs(), task);
    }

    @Override
    public void wakeShard(int shard) {
      shards.get(shard).wakeUp();
    }
  }

  /** The control thread has no data socket. */
  private static final class Nobody implements dev.sumac.transport.DatagramListener {
    @Override
    public void onDatagram(
        DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {}

    @Override
    public boolean onTurn(long nowNs) {
      return false;
    }
  }
}
