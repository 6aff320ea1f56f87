package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Elements;
import dev.sumac.protocol.OperationKind;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import dev.sumac.transport.Outbox;
import java.net.InetSocketAddress;
import java.util.Locale;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * SwitchML's aggregation (NSDI'21, section 3.5) for one run on one shard: the first contribution to
 * a chunk overwrites its slot, the others are added, the last one sends the sum to all. Used on the
 * shard's thread only; allocates nothing.
 */
final class SwitchMlProgram implements Action {
  private final RunSpec run;
  private final Members members;
  private final SlotPool pool;
  private final int[] values;
  private final int[] bases;
  private final int[] incoming;
  private final Counters counters;
  private final RunEvents events;
  private final AggregationHeader out;
  private boolean mismatched;

  /**
   * @param values the shard's slot memory
   * @param bases where in it each entry of the pool has its values
   */
  SwitchMlProgram(
      RunSpec run,
      Members members,
      int[] values,
      int[] bases,
      Counters counters,
      RunEvents events) {
    this.run = run;
    this.members = members;
    this.pool = new SlotPool(run.slots(), run.worldSize(), run.firstChunk(), run.policy());
    this.values = values;
    this.bases = bases;
    this.incoming = new int[run.elements()];
    this.counters = counters;
    this.events = events;
    this.out = new AggregationHeader(run.authentication());
  }

  @Override
  public void apply(AggregationHeader packet, DirectBuffer buffer, InetSocketAddress source) {
    if (!members.isFromMember(packet, source)) {
      return;
    }
    int rank = Tag.sourceRank(packet.tag());
    PacketKind kind = packet.kind();
    if (kind == PacketKind.CONTRIBUTION && members.isComplete()) {
      onContribution(rank, packet, buffer);
    } else if (kind == PacketKind.ACK && run.policy() == ReleasePolicy.ACKNOWLEDGED) {
      onAcknowledgement(rank, packet.chunk());
    } else {
      counters.increment(Counter.DROPPED_UNEXPECTED_KIND);
    }
  }

  private void onContribution(int rank, AggregationHeader packet, DirectBuffer buffer) {
    int count = packet.elementCount();
    if (count > run.elements()) {
      counters.increment(Counter.DROPPED_TOO_MANY_ELEMENTS);
      return;
    }
    int entry = pool.entryOf(packet.chunk());
    long clearsBefore = pool.clears();
    switch (pool.contribute(rank, packet)) {
      case OPENED -> {
        Elements.read(buffer, packet.elementsOffset(), values, bases[entry], count);
        contributed(entry);
      }
      case ADDED -> {
        Elements.read(buffer, packet.elementsOffset(), incoming, 0, count);
        Reducer.reduce(reduction(packet), values, bases[entry], incoming, count);
        contributed(entry);
      }
      case DUPLICATE -> counters.increment(Counter.DROPPED_DUPLICATE);
      case ALREADY_COMPLETE -> {
        sendResult(entry, members.rank(rank));
        counters.increment(Counter.RESULTS_REPEATED);
      }
      case STALE -> counters.increment(Counter.DROPPED_STALE);
      case FROM_THE_FUTURE -> counters.increment(Counter.DROPPED_FROM_THE_FUTURE);
      case MISMATCH -> reportMismatch(entry, rank, packet);
    }
    if (run.policy() == ReleasePolicy.ACKNOWLEDGED) {
      if (pool.clears() != clearsBefore) {
        counters.increment(Counter.POOL_CLEARS);
      }
      if (packet.isRetransmission()) {
        solicitMissing(entry, packet.chunk());
      }
    }
  }

  private static OperationKind reduction(AggregationHeader packet) {
    return packet.carriesExponents() ? OperationKind.MAX : packet.operationKind();
  }

  private void contributed(int entry) {
    counters.increment(Counter.CONTRIBUTIONS);
    if (pool.isComplete(entry)) {
      counters.increment(Counter.CHUNKS_COMPLETED);
      sendResult(entry, members.everyone());
    }
  }

  private void sendResult(int entry, Outbox to) {
    int count = pool.elementCount(entry);
    int at = to.claim(out.bytesOf(count));
    start(to, at, PacketKind.RESULT, Tag.ALL_RANKS);
    pool.describe(entry, out);
    Elements.write(values, bases[entry], to.buffer(), out.elementsOffset(), count);
    out.finish(to.buffer());
    to.commit();
  }

  private void onAcknowledgement(int rank, long chunk) {
    if (chunk >= 0 && pool.acknowledge(rank, chunk)) {
      counters.increment(Counter.ACKS);
    } else {
      counters.increment(Counter.DROPPED_STALE);
    }
  }

  /**
   * After a clear, a rank that never got a result contributes again to a chunk that the others have
   * done with, and would wait for ever: they are asked to contribute again too.
   */
  private void solicitMissing(int entry, long chunk) {
    if (!pool.holds(entry, chunk) || pool.isComplete(entry)) {
      return;
    }
    for (int rank = 0; rank < run.worldSize(); rank++) {
      if (!pool.hasContributed(entry, rank)) {
        Outbox to = members.rank(rank);
        int at = to.claim(out.bytesOf(0));
        start(to, at, PacketKind.SOLICIT, rank);
        out.chunk(chunk).finish(to.buffer());
        to.commit();
        counters.increment(Counter.SOLICITS);
      }
    }
  }

  private void start(Outbox to, int at, PacketKind kind, int destinationRank) {
    out.start(
            to.buffer(),
            at,
            kind,
            Tag.word(run.job(), 0, Tag.ALL_REDUCE, Tag.SWITCH, destinationRank))
        .run(run.run())
        .cookie(run.cookie());
  }

  private void reportMismatch(int entry, int rank, AggregationHeader packet) {
    counters.increment(Counter.DROPPED_MISMATCH);
    if (mismatched) {
      return;
    }
    mismatched = true;
    String value = describe(packet);
    int operation = packet.operation();
    UnsafeBuffer first = new UnsafeBuffer(new byte[AggregationHeader.HEADER_BYTES]);
    out.start(first, 0, PacketKind.CONTRIBUTION, 0);
    pool.describe(entry, out);
    events.onMismatch(
        run.run(), operation, pool.someContributor(entry), describe(out), rank, value);
  }

  private static String describe(AggregationHeader packet) {
    return String.format(
        Locale.ROOT,
        "operation %d: allReduce %s of %d x %s",
        packet.operation(),
        packet.operationKind(),
        packet.operationElements(),
        packet.elementType().name().toLowerCase(Locale.ROOT));
  }
}
