package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.RecordingNetwork.Sent;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Elements;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.SipHash;
import dev.sumac.protocol.Tag;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What strangers send to a shard: none of it is accepted, and none answered with more bytes. */
final class ForgeryTest {
  private static final int JOB = 7;
  private static final int RANKS = 2;
  private static final int ELEMENTS = 4;
  private static final int FORGED = 100_000;
  private static final long SEED = 63;

  private final RecordingNetwork network = new RecordingNetwork();
  private final UnsafeBuffer buffer =
      new UnsafeBuffer(new byte[AggregationHeader.MAX_DATAGRAM_BYTES]);
  private final SplittableRandom random = new SplittableRandom(SEED);
  private final JobKey jobKey = JobKey.derive("secret", "job");
  private final List<byte[]> wire = new ArrayList<>();
  private Shard shard;
  private RunSpec run;
  private AggregationHeader header;

  @BeforeEach
  void openTheShard() {
    shard = new Shard(8, ELEMENTS, network, new NoEvents(), new SplittableRandom(1));
  }

  /** Case 58. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingOfAnEarlierRunIsAccepted(boolean authenticated) {
    install(100, authenticated);
    for (long chunk = 0; chunk < 50; chunk++) {
      addChunk(chunk);
    }
    List<byte[]> recorded = new ArrayList<>(wire);
    remove();
    install(101, authenticated);
    List<byte[]> replayed = new ArrayList<>();
    while (replayed.size() < FORGED) {
      replayed.addAll(recorded);
      replayed.addAll(recorded);
    }
    Collections.shuffle(replayed, new Random(SEED));
    long dropsBefore = drops();
    long accepted = shard.counters().get(Counter.CONTRIBUTIONS);
    int sent = 0;
    for (byte[] packet : replayed) {
      arrive(packet, address(sent++ % RANKS));
    }
    assertEquals(List.of(), network.take());
    assertEquals(accepted, shard.counters().get(Counter.CONTRIBUTIONS));
    assertEquals(replayed.size(), drops() - dropsBefore);
    addChunk(0);
  }

  /** An attacker who reads the wire has run and cookie, and can forge source addresses. */
  @Test
  void aForgerWhoKnowsAllButTheKeyChangesNothing() {
    install(100, true);
    long wrongBefore = count(Counter.DROPPED_WRONG_AUTHENTICATION);
    for (int i = 0; i < FORGED; i++) {
      // One in two without a tag, one in two with a guessed one.
      SipHash guess = (i & 1) == 0 ? null : new SipHash(random.nextLong(), random.nextLong());
      PacketKind kind = PacketKind.values()[random.nextInt(PacketKind.values().length)];
      int collective = random.nextInt(2) == 0 ? Tag.CONTROL : Tag.ALL_REDUCE;
      AggregationHeader forged = new AggregationHeader(guess);
      int elements = kind.carriesElements() ? ELEMENTS : 0;
      forged
          .start(buffer, 0, kind, Tag.word(JOB, 0, collective, random.nextInt(3), Tag.SWITCH))
          .run(run.run())
          .cookie(run.cookie())
          .chunk(random.nextInt(8))
          .elementCount(elements);
      shard.onDatagram(buffer, 0, forged.finish(buffer), address(random.nextInt(3)), 0);
    }
    assertEquals(List.of(), network.take());
    assertEquals(0, count(Counter.CONTRIBUTIONS));
    assertEquals(FORGED, count(Counter.DROPPED_WRONG_AUTHENTICATION) - wrongBefore);
    addChunk(0);
    addChunk(1);
  }

  /** Results sent back as contributions, contributions with another rank's tag. */
  @Test
  void reflectedPacketsAndPacketsOfAnotherRankAreNotAuthentic() {
    install(100, true);
    addChunk(0);
    long before = count(Counter.CONTRIBUTIONS);
    for (byte[] packet : List.copyOf(wire)) {
      UnsafeBuffer bytes = new UnsafeBuffer(packet);
      AggregationHeader forger = new AggregationHeader();
      forger.check(bytes, 0, packet.length);
      if (forger.kind() == PacketKind.RESULT) {
        bytes.putByte(11, PacketKind.CONTRIBUTION.code());
        bytes.putLong(0, tag(1, Tag.ALL_REDUCE), ByteOrder.BIG_ENDIAN);
      } else {
        int rank = Tag.sourceRank(forger.tag()) == 0 ? 1 : 0;
        bytes.putLong(
            0,
            Tag.word(JOB, 0, Tag.of(forger.tag()).collective(), rank, Tag.SWITCH),
            ByteOrder.BIG_ENDIAN);
      }
      forger.chunk(1).finish(bytes);
      arrive(packet, address(0));
      arrive(packet, address(1));
    }
    assertEquals(before, count(Counter.CONTRIBUTIONS));
    assertEquals(2L * wire.size(), count(Counter.DROPPED_WRONG_AUTHENTICATION));
    assertEquals(List.of(), network.take());
    addChunk(1);
  }

  /** Case 63: whatever is sent from an unproved address, at most as many bytes come back. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStrangerNeverGetsMoreBytesThanItSent(boolean authenticated) {
    install(100, authenticated);
    addChunk(0);
    InetSocketAddress stranger = address(99);
    for (PacketKind kind : PacketKind.values()) {
      for (int collective : new int[] {Tag.CONTROL, Tag.ALL_REDUCE}) {
        for (int rank = 0; rank < RANKS + 1; rank++) {
          int elements = kind.carriesElements() ? 1 : 0;
          header
              .start(buffer, 0, kind, tag(rank, collective))
              .run(run.run())
              .cookie(run.cookie())
              .elementCount(elements);
          int length = header.finish(buffer);
          shard.onDatagram(buffer, 0, length, stranger, 0);
          assertEquals(List.of(), network.take(), kind + " of rank " + rank);
        }
      }
    }
    addChunk(1);
  }

  /** Before its rank is proved, the holder of the cookie gets one packet for one. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anUnprovedAddressGetsOnePacketOfTheSameLengthForEachProbe(boolean authenticated) {
    run = spec(100, authenticated);
    header = new AggregationHeader(run.authentication());
    shard.install(run);
    long bytesIn = 0;
    long bytesOut = 0;
    for (PacketKind kind : PacketKind.values()) {
      for (int collective : new int[] {Tag.CONTROL, Tag.ALL_REDUCE}) {
        int elements = kind.carriesElements() ? 1 : 0;
        header
            .start(buffer, 0, kind, tag(0, collective))
            .run(run.run())
            .cookie(run.cookie())
            .elementCount(elements);
        int length = header.finish(buffer);
        shard.onDatagram(buffer, 0, length, address(99), 0);
        bytesIn += length;
        for (Sent sent : network.take()) {
          bytesOut += (long) sent.bytes().capacity() * sent.receivers().size();
          assertTrue(sent.bytes().capacity() <= length, kind.toString());
        }
        assertTrue(bytesOut <= bytesIn);
      }
    }
    assertTrue(bytesOut > 0, "the probe was answered");
  }

  private void install(int number, boolean authenticated) {
    run = spec(number, authenticated);
    header = new AggregationHeader(run.authentication());
    wire.clear();
    shard.install(run);
    for (int rank = 0; rank < RANKS; rank++) {
      control(PacketKind.PROBE, rank, 0);
      Sent challenge = network.sent.get(network.sent.size() - 1);
      control(PacketKind.ANSWER, rank, challenge.header().chunk());
    }
    record();
  }

  private RunSpec spec(int number, boolean authenticated) {
    long cookie = random.nextLong();
    return new RunSpec(
        JOB,
        number,
        cookie,
        RANKS,
        4,
        ELEMENTS,
        ReleasePolicy.TWO_VERSION,
        0,
        authenticated ? jobKey.runKey(number, cookie) : null);
  }

  private void remove() {
    shard.remove(run);
  }

  /** Both ranks contribute; the sum must be exact. */
  private void addChunk(long chunk) {
    contribute(0, chunk, 5);
    contribute(1, chunk, 70);
    List<Sent> results = network.take();
    assertEquals(1, results.size());
    assertEquals(75, results.get(0).element(0));
    assertEquals(chunk, results.get(0).header().chunk());
    assertTrue(results.get(0).header().isAuthentic(run.authentication()));
    wire.add(copy(results.get(0)));
  }

  private void contribute(int rank, long chunk, int value) {
    header
        .start(buffer, 0, PacketKind.CONTRIBUTION, tag(rank, Tag.ALL_REDUCE))
        .run(run.run())
        .cookie(run.cookie())
        .chunk(chunk)
        .elementCount(1);
    Elements.write(new int[] {value}, 0, buffer, header.elementsOffset(), 1);
    deliver(header.finish(buffer), rank);
  }

  private void control(PacketKind kind, int rank, long number) {
    header
        .start(buffer, 0, kind, tag(rank, Tag.CONTROL))
        .run(run.run())
        .cookie(run.cookie())
        .chunk(number);
    deliver(header.finish(buffer), rank);
  }

  private void deliver(int length, int rank) {
    byte[] packet = new byte[length];
    buffer.getBytes(0, packet);
    wire.add(packet);
    arrive(packet, address(rank));
  }

  private void arrive(byte[] packet, InetSocketAddress from) {
    shard.onDatagram(new UnsafeBuffer(packet), 0, packet.length, from, 0);
  }

  private void record() {
    network.take().forEach(sent -> wire.add(copy(sent)));
  }

  private static byte[] copy(Sent sent) {
    byte[] packet = new byte[sent.bytes().capacity()];
    sent.bytes().getBytes(0, packet);
    return packet;
  }

  private long drops() {
    long sum = 0;
    for (Counter counter : Counter.values()) {
      sum += counter.label().startsWith("dropped-") ? count(counter) : 0;
    }
    return sum;
  }

  private long count(Counter counter) {
    return shard.counters().get(counter);
  }

  private static long tag(int rank, int collective) {
    return Tag.word(JOB, 0, collective, rank, Tag.SWITCH);
  }

  private static InetSocketAddress address(int rank) {
    try {
      return new InetSocketAddress(
          InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 4_000 + rank);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  private static final class NoEvents implements RunEvents {
    @Override
    public void onProved(int run, int rank) {}

    @Override
    public void onMismatch(
        int run, int operation, int rankA, String valueA, int rankB, String valueB) {}

    @Override
    public void onRemoved(int run) {}
  }
}
