package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Malformed;
import dev.sumac.protocol.Tag;
import dev.sumac.transport.DatagramListener;
import dev.sumac.transport.PacketNetwork;
import java.net.InetSocketAddress;
import java.util.random.RandomGenerator;
import org.agrona.DirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.jctools.queues.MpscUnboundedArrayQueue;

/**
 * A packet's whole way through the switch, one method a step: {@link #onDatagram parse}, match,
 * act; what an action emits leaves through an outbox when the batch is full or the turn ends.
 *
 * <p>A shard owns its slots, its flow table and its endpoint's thread, and shares nothing with
 * other shards. {@link #submit} may be called from any thread; everything else is called on the
 * endpoint's thread. Owns no thread, socket or clock itself.
 */
final class Shard implements DatagramListener {
  private final PacketNetwork network;
  private final RunEvents events;
  private final RandomGenerator random;
  private final SlotMemory slots;
  private final Counters counters = new Counters();
  private final FlowTable flows = new FlowTable();
  private final Int2ObjectHashMap<int[]> lent = new Int2ObjectHashMap<>();
  private final MpscUnboundedArrayQueue<Runnable> commands = new MpscUnboundedArrayQueue<>(64);
  private final AggregationHeader packet = new AggregationHeader();

  /**
   * Makes a shard without runs.
   *
   * @param random where the numbers of challenges come from: SecureRandom but in simulations
   */
  Shard(int slots, int elements, PacketNetwork network, RunEvents events, RandomGenerator random) {
    this.slots = new SlotMemory(slots, elements);
    this.network = network;
    this.events = events;
    this.random = random;
  }

  /**
   * Parse. A datagram may hold several packets, one behind the other; what can't be parsed ends it.
   */
  @Override
  public void onDatagram(
      DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
    int at = offset;
    int end = offset + lengthBytes;
    do {
      counters.increment(Counter.PACKETS_IN);
      Malformed reason = packet.check(buffer, at, end - at);
      if (reason != Malformed.NONE) {
        counters.increment(Counter.of(reason));
        return;
      }
      at += packet.packetBytes();
      match(buffer, source);
    } while (at < end);
  }

  private void match(DirectBuffer buffer, InetSocketAddress source) {
    FlowEntry entry = flows.match(packet.tag());
    if (entry == null) {
      counters.increment(Counter.DROPPED_NO_FLOW_ENTRY);
      return;
    }
    entry.count(packet.packetBytes());
    entry.action().apply(packet, buffer, source);
  }

  @Override
  public boolean onTurn(long nowNs) {
    Runnable command;
    while ((command = commands.poll()) != null) {
      command.run();
    }
    return false;
  }

  /**
   * Hands a command to the shard's thread. It runs at the shard's next turn; the caller wakes the
   * endpoint up.
   */
  void submit(Runnable command) {
    commands.offer(command);
  }

  /**
   * Command: lends the run its slots and installs its flow entries. Admission has made sure that
   * there are enough.
   */
  void install(RunSpec run) {
    int[] bases = slots.lend(run.slots());
    lent.put(run.run(), bases);
    Members members = new Members(run, network, counters, events, random);
    SwitchMlProgram program =
        new SwitchMlProgram(run, members, slots.values(), bases, counters, events);
    flows.install(new FlowEntry(run.flow(Tag.CONTROL), members));
    flows.install(new FlowEntry(run.flow(Tag.ALL_REDUCE), program));
  }

  /** Command: forgets the run. Its packets find no flow entry from now on. */
  void remove(RunSpec run) {
    flows.remove(run.flow(Tag.CONTROL));
    flows.remove(run.flow(Tag.ALL_REDUCE));
    int[] bases = lent.remove(run.run());
    if (bases != null) {
      slots.takeBack(bases);
    }
    events.onRemoved(run.run());
  }

  Counters counters() {
    return counters;
  }

  int freeSlots() {
    return slots.freeCount();
  }

  int flowEntries() {
    return flows.size();
  }
}
