package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import dev.sumac.transport.Outbox;
import dev.sumac.transport.PacketNetwork;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import org.agrona.DirectBuffer;

/**
 * The addresses of one run's ranks on one shard, and their proof. Used on the shard's thread only.
 *
 * <pre>
 *   UNKNOWN --PROBE from A--> CHALLENGED(A) --ANSWER from A with A's number--> PROVED(A), for good
 *   CHALLENGED(A) --PROBE from B--> CHALLENGED(B)
 * </pre>
 *
 * <p>Only packets with the run's cookie get this far, and each is answered by one packet of the
 * same length: nobody can use the switch to send more bytes to a third party than it got.
 */
final class Members implements Action {
  private final RunSpec run;
  private final PacketNetwork network;
  private final Counters counters;
  private final RunEvents events;
  private final RandomGenerator random;
  private final InetSocketAddress[] claimed;
  private final InetSocketAddress[] proved;
  private final long[] challenge;
  private final Outbox[] outboxes;
  private final AggregationHeader reply;
  private int provedCount;
  private Outbox everyone;

  Members(
      RunSpec run,
      PacketNetwork network,
      Counters counters,
      RunEvents events,
      RandomGenerator random) {
    this.run = run;
    this.network = network;
    this.counters = counters;
    this.events = events;
    this.random = random;
    this.reply = new AggregationHeader(run.authentication());
    this.claimed = new InetSocketAddress[run.worldSize()];
    this.proved = new InetSocketAddress[run.worldSize()];
    this.challenge = new long[run.worldSize()];
    this.outboxes = new Outbox[run.worldSize()];
  }

  /** Whether the packet is of this run and comes from its rank's proved address; counts why not. */
  boolean isFromMember(AggregationHeader packet, InetSocketAddress source) {
    if (!isOfRun(packet)) {
      return false;
    }
    int rank = Tag.sourceRank(packet.tag());
    // Packets of one read share the address object, so the comparison is mostly one of references.
    if (rank >= run.worldSize() || !source.equals(proved[rank])) {
      counters.increment(Counter.DROPPED_UNPROVED_SOURCE);
      return false;
    }
    return true;
  }

  /** Outbox to one proved rank. */
  Outbox rank(int rank) {
    return outboxes[rank];
  }

  /** Outbox to all ranks; there once every rank is proved. */
  Outbox everyone() {
    return everyone;
  }

  boolean isComplete() {
    return everyone != null;
  }

  @Override
  public void apply(AggregationHeader packet, DirectBuffer buffer, InetSocketAddress source) {
    if (!isOfRun(packet)) {
      return;
    }
    int rank = Tag.sourceRank(packet.tag());
    if (rank >= run.worldSize()) {
      counters.increment(Counter.DROPPED_UNPROVED_SOURCE);
      return;
    }
    switch (packet.kind()) {
      case PROBE -> onProbe(rank, source);
      case ANSWER -> onAnswer(rank, packet.chunk(), source);
      default -> counters.increment(Counter.DROPPED_UNEXPECTED_KIND);
    }
  }

  private void onProbe(int rank, InetSocketAddress source) {
    if (proved[rank] != null) {
      confirm(rank, source);
      return;
    }
    if (!source.equals(claimed[rank])) {
      claimed[rank] = source;
      challenge[rank] = random.nextLong();
      outboxes[rank] = network.outbox(source);
    }
    send(rank, PacketKind.CHALLENGE, challenge[rank]);
  }

  private void onAnswer(int rank, long number, InetSocketAddress source) {
    if (proved[rank] != null) {
      confirm(rank, source);
    } else if (source.equals(claimed[rank]) && number == challenge[rank]) {
      proved[rank] = source;
      provedCount++;
      if (provedCount == run.worldSize()) {
        List<InetSocketAddress> all = new ArrayList<>(Arrays.asList(proved));
        everyone = network.outbox(all);
      }
      send(rank, PacketKind.PROVED, 0);
      events.onProved(run.run(), rank);
    } else {
      counters.increment(Counter.DROPPED_UNPROVED_SOURCE);
    }
  }

  private void confirm(int rank, InetSocketAddress source) {
    if (source.equals(proved[rank])) {
      send(rank, PacketKind.PROVED, 0);
    } else {
      counters.increment(Counter.DROPPED_UNPROVED_SOURCE);
    }
  }

  private void send(int rank, PacketKind kind, long number) {
    Outbox to = outboxes[rank];
    int at = to.claim(reply.bytesOf(0));
    reply
        .start(to.buffer(), at, kind, Tag.word(run.job(), 0, Tag.CONTROL, Tag.SWITCH, rank))
        .run(run.run())
        .cookie(run.cookie())
        .chunk(number)
        .finish(to.buffer());
    to.commit();
  }

  private boolean isOfRun(AggregationHeader packet) {
    if (packet.run() != run.run()) {
      counters.increment(Counter.DROPPED_WRONG_RUN);
      return false;
    }
    if (packet.cookie() != run.cookie()) {
      counters.increment(Counter.DROPPED_WRONG_COOKIE);
      return false;
    }
    if (!packet.isAuthentic(run.authentication())) {
      counters.increment(Counter.DROPPED_WRONG_AUTHENTICATION);
      return false;
    }
    return true;
  }
}
