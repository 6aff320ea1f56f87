package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.sumac.dataplane.RecordingNetwork.Sent;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Elements;
import dev.sumac.protocol.OperationKind;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** A shard driven by hand-made packets: no socket, no clock. */
final class ShardTest {
  private static final int JOB = 7;
  private static final int RUN = -5;
  private static final long COOKIE = 0x1122334455667788L;

  private final RecordingNetwork network = new RecordingNetwork();
  private final List<String> events = new ArrayList<>();
  private final AggregationHeader header = new AggregationHeader();
  private final UnsafeBuffer buffer =
      new UnsafeBuffer(new byte[AggregationHeader.MAX_DATAGRAM_BYTES]);
  private Shard shard;

  @Test
  void twoRanksContributionsAreAddedAndSentToBoth() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    contribute(0, 0, 1, 2, Integer.MAX_VALUE);
    assertEquals(List.of(), network.take());
    contribute(1, 0, 10, 20, 1);
    Sent result = only();
    assertEquals(List.of(address(0), address(1)), result.receivers());
    assertEquals(PacketKind.RESULT, result.header().kind());
    assertEquals(RUN, result.header().run());
    assertEquals(Tag.ALL_RANKS, Tag.destinationRank(result.header().tag()));
    assertEquals(Tag.SWITCH, Tag.sourceRank(result.header().tag()));
    assertEquals(11, result.element(0));
    assertEquals(22, result.element(1));
    assertEquals(Integer.MIN_VALUE, result.element(2), "wraps around as hardware does");
    assertEquals(2, count(Counter.CONTRIBUTIONS));
    assertEquals(1, count(Counter.CHUNKS_COMPLETED));
  }

  @Test
  void minimumAndMaximumCompareSignedNumbers() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    for (OperationKind kind : List.of(OperationKind.MIN, OperationKind.MAX)) {
      long chunk = kind == OperationKind.MIN ? 0 : 1;
      send(0, packet -> packet.chunk(chunk).operationKind(kind), -5, 7);
      send(1, packet -> packet.chunk(chunk).operationKind(kind), 3, Integer.MIN_VALUE);
      Sent result = only();
      assertEquals(kind == OperationKind.MIN ? -5 : 3, result.element(0));
      assertEquals(kind == OperationKind.MIN ? Integer.MIN_VALUE : 7, result.element(1));
    }
  }

  @Test
  void exponentsAreReducedWithMaximumWhateverTheOperation() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    send(0, packet -> packet.chunk(0).flags(AggregationHeader.EXPONENTS), -9, 0);
    send(1, packet -> packet.chunk(0).flags(AggregationHeader.EXPONENTS), -100, 1);
    Sent result = only();
    assertEquals(-9, result.element(0));
    assertEquals(1, result.element(1));
    assertTrue(result.header().carriesExponents());
    assertEquals(OperationKind.SUM, result.header().operationKind());
  }

  @Test
  void aRankThatMissedTheResultGetsItAgainAloneAndByteForByte() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    contribute(0, 0, 1);
    contribute(1, 0, 2);
    Sent first = only();
    contribute(1, 0, 2);
    Sent again = only();
    assertEquals(List.of(address(1)), again.receivers());
    assertEquals(first.bytes(), again.bytes());
    assertEquals(1, count(Counter.RESULTS_REPEATED));
  }

  @Test
  void aRepeatedContributionToAnOpenChunkIsDroppedAndCounted() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    contribute(0, 0, 5);
    contribute(0, 0, 5);
    assertEquals(List.of(), network.take());
    assertEquals(1, count(Counter.DROPPED_DUPLICATE));
    contribute(1, 0, 1);
    assertEquals(6, only().element(0));
  }

  @Test
  void aWorldOfOneGetsItsOwnValuesBack() throws Exception {
    open(1, ReleasePolicy.TWO_VERSION);
    contribute(0, 0, 42);
    assertEquals(42, only().element(0));
  }

  @Test
  void severalPacketsInOneDatagramAreAllTaken() throws Exception {
    open(1, ReleasePolicy.TWO_VERSION);
    int first = write(0, 0, packet -> packet.chunk(0), 1, 2);
    int second = write(first, 0, packet -> packet.chunk(1), 3);
    shard.onDatagram(buffer, 0, first + second, address(0), 0);
    List<Sent> results = network.take();
    assertEquals(2, results.size());
    assertEquals(3, results.get(1).element(0));
  }

  /** Case 46. */
  @Test
  void aDatagramOneByteShortIsRefusedAndOneByteLongKeepsItsPacket() throws Exception {
    open(1, ReleasePolicy.TWO_VERSION);
    int length = write(0, 0, packet -> packet.chunk(0), 1, 2);
    shard.onDatagram(buffer, 0, length - 1, address(0), 0);
    assertEquals(1, count(Counter.MALFORMED_TRUNCATED));
    assertEquals(List.of(), network.take());
    shard.onDatagram(buffer, 0, length + 1, address(0), 0);
    assertEquals(1, count(Counter.MALFORMED_TOO_SHORT));
    assertEquals(1, only().element(0));
  }

  @Test
  void packetsThatAreNotOfTheRunAreCountedByReasonAndDoNothing() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    contribute(0, 0, 1);
    refused(Counter.DROPPED_WRONG_RUN, 1, packet -> packet.chunk(0).run(RUN - 1));
    refused(Counter.DROPPED_WRONG_COOKIE, 1, packet -> packet.chunk(0).cookie(COOKIE + 1));
    int length = write(0, 1, packet -> packet.chunk(0), 9);
    shard.onDatagram(buffer, 0, length, address(5), 0);
    assertEquals(1, count(Counter.DROPPED_UNPROVED_SOURCE), "another address claims rank 1");
    length = write(0, 1, packet -> packet.chunk(0), 9);
    shard.onDatagram(buffer, 0, length, address(0), 0);
    assertEquals(2, count(Counter.DROPPED_UNPROVED_SOURCE), "rank 0 claims to be rank 1");
    length = write(0, 900, packet -> packet.chunk(0), 9);
    shard.onDatagram(buffer, 0, length, address(0), 0);
    assertEquals(3, count(Counter.DROPPED_UNPROVED_SOURCE), "no such rank");
    assertEquals(List.of(), network.take());
    contribute(1, 0, 1);
    assertEquals(2, only().element(0));
  }

  @Test
  void packetsThatAWorkerDoesNotSendAreCounted() throws Exception {
    open(1, ReleasePolicy.TWO_VERSION);
    for (PacketKind kind :
        List.of(PacketKind.RESULT, PacketKind.SOLICIT, PacketKind.ACK, PacketKind.PROBE)) {
      header.start(buffer, 0, kind, tag(0, Tag.ALL_REDUCE)).run(RUN).cookie(COOKIE);
      shard.onDatagram(buffer, 0, header.finish(buffer), address(0), 0);
    }
    assertEquals(4, count(Counter.DROPPED_UNEXPECTED_KIND));
    header.start(buffer, 0, PacketKind.CONTRIBUTION, Tag.word(JOB + 1, 0, Tag.ALL_REDUCE, 0, 0));
    shard.onDatagram(buffer, 0, header.finish(buffer), address(0), 0);
    assertEquals(1, count(Counter.DROPPED_NO_FLOW_ENTRY));
    send(0, packet -> packet.chunk(0), 1, 2, 3, 4, 5);
    assertEquals(1, count(Counter.DROPPED_TOO_MANY_ELEMENTS));
    assertEquals(List.of(), network.take());
  }

  @Test
  void aMismatchIsReportedOnceWithBothRanksAndValues() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    send(0, packet -> packet.chunk(0).operation(3).operationElements(10), 1);
    send(1, packet -> packet.chunk(0).operation(3).operationElements(11), 1);
    send(1, packet -> packet.chunk(0).operation(3).operationElements(11), 1);
    assertEquals(
        List.of(
            "mismatch -5: rank 0 operation 3: allReduce SUM of 10 x int32, rank 1 operation 3:"
                + " allReduce SUM of 11 x int32"),
        events);
    assertEquals(2, count(Counter.DROPPED_MISMATCH));
  }

  /** Case 58. */
  @Test
  void aRunThatWasRemovedLeavesNothingAndItsPacketsCountForNothing() throws Exception {
    open(1, ReleasePolicy.TWO_VERSION);
    contribute(0, 0, 1);
    int recorded = write(0, 0, packet -> packet.chunk(1), 9);
    byte[] old = new byte[recorded];
    buffer.getBytes(0, old);
    shard.submit(() -> shard.remove(spec(1, ReleasePolicy.TWO_VERSION, RUN, COOKIE)));
    shard.onTurn(0);
    assertEquals("removed -5", events.get(events.size() - 1));
    assertEquals(8, shard.freeSlots());
    assertEquals(0, shard.flowEntries());
    install(1, ReleasePolicy.TWO_VERSION, RUN + 1, COOKIE + 1);
    network.take();
    shard.onDatagram(new UnsafeBuffer(old), 0, old.length, address(0), 0);
    assertEquals(List.of(), network.take());
    assertEquals(1, count(Counter.DROPPED_WRONG_RUN));
  }

  @Test
  void afterAClearTheOthersAreAskedToContributeAgain() throws Exception {
    open(2, ReleasePolicy.ACKNOWLEDGED);
    for (long chunk = 0; chunk < 8; chunk++) {
      contribute(0, chunk, 1);
      contribute(1, chunk, 2);
    }
    network.take();
    acknowledge(0, 0);
    contribute(0, 8, 1);
    assertEquals(1, count(Counter.POOL_CLEARS), "rank 1 had not acknowledged chunk 0");
    assertEquals(List.of(), network.take());
    // Rank 1 never got the result of chunk 5 and contributes again; rank 0 has it and is asked.
    send(1, packet -> packet.chunk(5).flags(AggregationHeader.RETRANSMISSION), 2);
    Sent solicitation = only();
    assertEquals(PacketKind.SOLICIT, solicitation.header().kind());
    assertEquals(5, solicitation.header().chunk());
    assertEquals(List.of(address(0)), solicitation.receivers());
    contribute(0, 5, 1);
    assertEquals(3, only().element(0));
  }

  /** Case 63: challenge and proof, never more bytes out than in. */
  @Test
  void anAddressIsProvedByAnsweringItsOwnChallenge() throws Exception {
    shard = new Shard(8, 4, network, events(), new SplittableRandom(1));
    RunSpec spec = spec(2, ReleasePolicy.TWO_VERSION, RUN, COOKIE);
    shard.submit(() -> shard.install(spec));
    shard.onTurn(0);
    int request = control(PacketKind.PROBE, 0, 0, COOKIE, address(0));
    Sent challenge = only();
    assertEquals(PacketKind.CHALLENGE, challenge.header().kind());
    assertEquals(List.of(address(0)), challenge.receivers());
    assertTrue(challenge.bytes().capacity() <= request);
    long number = challenge.header().chunk();

    control(PacketKind.ANSWER, 0, number + 1, COOKIE, address(0));
    assertEquals(List.of(), network.take(), "a wrong number");
    control(PacketKind.ANSWER, 0, number, COOKIE, address(3));
    assertEquals(List.of(), network.take(), "the right number from elsewhere");
    control(PacketKind.PROBE, 0, 0, COOKIE + 1, address(0));
    assertEquals(List.of(), network.take(), "a stranger");
    assertEquals(List.of(), events);

    control(PacketKind.PROBE, 0, 0, COOKIE, address(3));
    assertEquals(List.of(address(3)), only().receivers(), "the claim moves to the new address");
    control(PacketKind.ANSWER, 0, number, COOKIE, address(0));
    assertEquals(List.of(), network.take(), "so the old number is worth nothing");

    control(PacketKind.PROBE, 0, 0, COOKIE, address(0));
    control(PacketKind.ANSWER, 0, only().header().chunk(), COOKIE, address(0));
    assertEquals(PacketKind.PROVED, only().header().kind());
    assertEquals(List.of("proved -5 rank 0"), events);

    control(PacketKind.PROBE, 0, 0, COOKIE, address(0));
    assertEquals(PacketKind.PROVED, only().header().kind(), "the answer was lost: again");
    control(PacketKind.PROBE, 0, 0, COOKIE, address(3));
    assertEquals(List.of(), network.take(), "a proved rank can't be taken over");
    contribute(0, 0, 1);
    assertEquals(1, count(Counter.DROPPED_UNEXPECTED_KIND), "no data before all are proved");
  }

  @Test
  void garbageNeverThrowsAndIsNeverAnswered() throws Exception {
    open(2, ReleasePolicy.ACKNOWLEDGED);
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 200_000; i++) {
      int length = write(0, i & 1, packet -> packet.chunk(0), 1, 2);
      for (int flips = random.nextInt(3) + 1; flips > 0; flips--) {
        buffer.putByte(random.nextInt(length), (byte) random.nextInt());
      }
      // The check value would catch nearly all: mend it, as an attacker would, and let the cookie
      // stand in the way.
      buffer.putLong(24, random.nextLong());
      header.check(buffer, 0, length);
      if (header.packetBytes() <= length) {
        header.finish(buffer);
      }
      shard.onDatagram(buffer, 0, random.nextInt(length) + 1, address(i & 1), 0);
    }
    assertEquals(List.of(), network.take());
    assertEquals(0, count(Counter.CONTRIBUTIONS));
  }

  /** Law 5. */
  @Test
  void theWayOfAPacketAllocatesNothing() throws Exception {
    open(2, ReleasePolicy.TWO_VERSION);
    network.keeps = false;
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long chunk = 0;
    for (int i = 0; i < 20_000; i++) {
      pair(chunk++);
    }
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 50_000; i++) {
      pair(chunk++);
    }
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;
    assertTrue(allocated < 100_000, allocated + " B for 100,000 packets");
    assertEquals(140_000, count(Counter.CONTRIBUTIONS));
  }

  private void pair(long chunk) {
    for (int rank = 0; rank < 2; rank++) {
      header
          .start(buffer, 0, PacketKind.CONTRIBUTION, tag(rank, Tag.ALL_REDUCE))
          .run(RUN)
          .cookie(COOKIE)
          .chunk(chunk)
          .elementCount(4);
      int length = header.finish(buffer);
      shard.onDatagram(buffer, 0, length, rank == 0 ? ADDRESS_0 : ADDRESS_1, 0);
    }
  }

  private static final InetSocketAddress ADDRESS_0 = addressOf(0);
  private static final InetSocketAddress ADDRESS_1 = addressOf(1);

  private void open(int worldSize, ReleasePolicy policy) {
    shard = new Shard(8, 4, network, events(), new SplittableRandom(1));
    install(worldSize, policy, RUN, COOKIE);
    network.take();
    events.clear();
  }

  private void install(int worldSize, ReleasePolicy policy, int run, long cookie) {
    RunSpec spec = spec(worldSize, policy, run, cookie);
    shard.submit(() -> shard.install(spec));
    shard.onTurn(0);
    for (int rank = 0; rank < worldSize; rank++) {
      control(PacketKind.PROBE, rank, 0, run, cookie, address(rank));
      Sent challenge = network.sent.get(network.sent.size() - 1);
      control(PacketKind.ANSWER, rank, challenge.header().chunk(), run, cookie, address(rank));
    }
  }

  private static RunSpec spec(int worldSize, ReleasePolicy policy, int run, long cookie) {
    return new RunSpec(JOB, run, cookie, worldSize, 4, 4, policy, 0);
  }

  private int control(PacketKind kind, int rank, long number, long cookie, InetSocketAddress from) {
    return control(kind, rank, number, RUN, cookie, from);
  }

  private int control(
      PacketKind kind, int rank, long number, int run, long cookie, InetSocketAddress from) {
    header.start(buffer, 0, kind, tag(rank, Tag.CONTROL)).run(run).cookie(cookie).chunk(number);
    int length = header.finish(buffer);
    shard.onDatagram(buffer, 0, length, from, 0);
    return length;
  }

  private void acknowledge(int rank, long chunk) {
    header.start(buffer, 0, PacketKind.ACK, tag(rank, Tag.ALL_REDUCE));
    header.run(RUN).cookie(COOKIE).chunk(chunk);
    shard.onDatagram(buffer, 0, header.finish(buffer), address(rank), 0);
  }

  private void contribute(int rank, long chunk, int... elements) {
    send(rank, packet -> packet.chunk(chunk), elements);
  }

  private void refused(Counter counter, int rank, Consumer<AggregationHeader> change) {
    send(rank, change, 9);
    assertEquals(1, count(counter));
    assertEquals(List.of(), network.take());
  }

  private void send(int rank, Consumer<AggregationHeader> change, int... elements) {
    int length = write(0, rank, change, elements);
    shard.onDatagram(buffer, 0, length, address(rank), 0);
  }

  private int write(int at, int rank, Consumer<AggregationHeader> change, int... elements) {
    header
        .start(buffer, at, PacketKind.CONTRIBUTION, tag(rank, Tag.ALL_REDUCE))
        .run(RUN)
        .cookie(COOKIE)
        .elementCount(elements.length);
    change.accept(header);
    Elements.write(elements, 0, buffer, header.elementsOffset(), elements.length);
    return header.finish(buffer);
  }

  private static long tag(int rank, int collective) {
    return Tag.word(JOB, 0, collective, rank, Tag.SWITCH);
  }

  private Sent only() {
    List<Sent> sent = network.take();
    assertEquals(1, sent.size(), sent.toString());
    return sent.get(0);
  }

  private long count(Counter counter) {
    return shard.counters().get(counter);
  }

  private static InetSocketAddress address(int rank) {
    return addressOf(rank);
  }

  private static InetSocketAddress addressOf(int rank) {
    try {
      return new InetSocketAddress(
          InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 4_000 + rank);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  private RunEvents events() {
    return new RunEvents() {
      @Override
      public void onProved(int run, int rank) {
        events.add("proved " + run + " rank " + rank);
      }

      @Override
      public void onMismatch(
          int run, int operation, int rankA, String valueA, int rankB, String valueB) {
        events.add(
            "mismatch "
                + run
                + ": rank "
                + rankA
                + " "
                + valueA
                + ", rank "
                + rankB
                + " "
                + valueB);
      }

      @Override
      public void onRemoved(int run) {
        events.add("removed " + run);
      }
    };
  }
}
