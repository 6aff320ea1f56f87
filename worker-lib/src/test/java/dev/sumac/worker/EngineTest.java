package dev.sumac.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Elements;
import dev.sumac.protocol.Malformed;
import dev.sumac.protocol.OperationKind;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import dev.sumac.reliability.FaultModel;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.transport.Outbox;
import dev.sumac.transport.PacketNetwork;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Engines of all ranks against a switch that is a map, in virtual time, over a network with seeded
 * faults.
 */
final class EngineTest {
  private static final int ELEMENTS = 8;
  private static final long HOP_NS = 50_000;
  private static final long TICK_NS = 1_000_000;

  @ParameterizedTest
  @CsvSource({
    "1, 1, 0",
    "2, 1, 0",
    "3, 2, 0",
    "2, 3, 0.1",
    "3, 1, 0.3",
    "4, 1, 0.1",
    "2, 1, 0.3",
    "3, 3, 0.3"
  })
  void everyLengthIsReducedExactlyOnAHostileNetwork(int ranks, int shards, double loss)
      throws Exception {
    for (long seed = 1; seed <= 5; seed++) {
      World world =
          new World(ranks, shards, new FaultSpec(loss, 1, loss, loss, 3_000_000, loss / 5, seed));
      int[] lengths = {0, 1, ELEMENTS - 1, ELEMENTS, ELEMENTS + 1, 3 * ELEMENTS + 7, 500};
      List<Operation> operations = new ArrayList<>();
      List<int[]> integers = new ArrayList<>();
      List<float[]> floats = new ArrayList<>();
      for (int length : lengths) {
        for (int rank = 0; rank < ranks; rank++) {
          int thisRank = rank;
          int[] values = IntStream.range(0, length).map(i -> i * 3 + thisRank).toArray();
          integers.add(values);
          operations.add(world.submit(rank, ints(values)));
          float[] reals = new float[length];
          for (int i = 0; i < length; i++) {
            reals[i] = i - thisRank;
          }
          floats.add(reals);
          operations.add(world.submit(rank, sums(reals, ranks)));
        }
      }
      world.runUntilDone(operations);
      for (Operation operation : operations) {
        operation.future().get();
      }
      for (int k = 0; k < integers.size(); k++) {
        for (int i = 0; i < integers.get(k).length; i++) {
          assertEquals(ranks * 3 * i + ranks * (ranks - 1) / 2, integers.get(k)[i], "seed " + seed);
          assertEquals(ranks * i - ranks * (ranks - 1) / 2f, floats.get(k)[i], "seed " + seed);
        }
      }
    }
  }

  @Test
  void withoutFaultsNothingIsSentTwice() throws Exception {
    World world = new World(2, 1, FaultSpec.NONE);
    List<Operation> operations = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      operations.add(world.submit(rank, ints(new int[1_000])));
    }
    world.runUntilDone(operations);
    for (Engine engine : world.engines) {
      assertEquals(0, engine.stats(0).retransmissions());
      assertEquals(125, engine.stats(0).packetsSent());
    }
  }

  /** Waiting for others costs a packet now and then, not a window of them. */
  @Test
  void aRankThatWaitsProbesWithOnePacketAtATime() {
    World world = new World(2, 1, FaultSpec.NONE);
    Operation operation = world.submit(0, ints(new int[1_000]));
    world.runFor(2_000_000_000L);
    assertFalse(operation.future().isDone());
    long repeated = world.engines.get(0).stats(0).retransmissions();
    assertTrue(repeated >= 5 && repeated <= 45, "repeated " + repeated + " packets in 2 s");
  }

  @Test
  void anOperationPastItsLimitFailsItselfAndEverythingAfterIt() {
    World world = new World(2, 1, FaultSpec.NONE);
    Operation first = world.submit(0, ints(new int[3]));
    world.runFor(World.TIMEOUT_NS + 2 * TICK_NS);
    SumacException failure =
        (SumacException)
            assertThrows(ExecutionException.class, () -> first.future().get()).getCause();
    assertInstanceOf(OperationTimeoutException.class, failure);
    assertTrue(failure.getMessage().contains("0 of 1 chunks"), failure.getMessage());
    assertEquals(List.of(failure), world.failures);
    Operation second = world.submit(0, ints(new int[3]));
    world.runFor(TICK_NS);
    assertEquals(
        failure, assertThrows(ExecutionException.class, () -> second.future().get()).getCause());
    assertEquals(1, world.failures.size(), "told once");
  }

  @Test
  void aRankThatLeftFailsOnlyOperationsThatItDoesNotTakePartIn() throws Exception {
    World world = new World(2, 1, FaultSpec.NONE);
    List<Operation> shared =
        List.of(world.submit(0, ints(new int[3])), world.submit(1, ints(new int[3])));
    world.runFor(HOP_NS / 2);
    world.engines.get(0).rankLeft(1, 1);
    world.runUntilDone(shared);
    shared.get(0).future().get();
    Operation alone = world.submit(0, ints(new int[3]));
    world.runFor(TICK_NS);
    Throwable failure =
        assertThrows(ExecutionException.class, () -> alone.future().get()).getCause();
    assertEquals(1, assertInstanceOf(RankLostException.class, failure).rank());
  }

  @Test
  void packetsOfAnotherRunOrFromElsewhereAreDropped() {
    World world = new World(1, 1, FaultSpec.NONE);
    Engine engine = world.engines.get(0);
    UnsafeBuffer bytes = new UnsafeBuffer(new byte[200]);
    AggregationHeader header = new AggregationHeader();
    for (int i = 0; i < 3; i++) {
      header.start(bytes, 0, PacketKind.RESULT, 0);
      header.run(i == 0 ? World.RUN + 1 : World.RUN).cookie(i == 1 ? 1 : World.COOKIE);
      int length = header.finish(bytes);
      InetSocketAddress source =
          i == 2 ? InetSocketAddress.createUnresolved("x", 9) : World.shard(0);
      engine.onDatagram(bytes, 0, length, source, 0);
    }
    assertEquals(3, engine.stats(0).packetsDropped());
  }

  private static ChunkCodec ints(int[] values) {
    return new Int32Codec(OperationKind.SUM, Operand.of(values), Operand.of(values));
  }

  private static ChunkCodec sums(float[] values, int ranks) {
    return new FixedPointCodec(Operand.of(values), Operand.of(values), ranks);
  }

  /** All ranks, the network, and a switch that remembers everything for ever. */
  private static final class World {
    static final int RUN = 3;
    static final long COOKIE = 99;
    static final long TIMEOUT_NS = 60_000_000_000L;

    final List<Engine> engines = new ArrayList<>();
    final List<SumacException> failures = new ArrayList<>();
    private final FaultModel faults;
    private final int shards;
    private final PriorityQueue<Event> events =
        new PriorityQueue<>(Comparator.comparingLong(Event::atNs).thenComparingLong(Event::order));
    private final Map<String, Sum> sums = new HashMap<>();
    private long order;
    private long nowNs;

    private record Event(long atNs, long order, Runnable action) {}

    /** One chunk on one shard. */
    private static final class Sum {
      final boolean[] from;
      final int[] values;
      int exponent = Short.MIN_VALUE;
      int nonFinite;

      Sum(int ranks, int count) {
        from = new boolean[ranks];
        values = new int[count];
      }
    }

    World(int ranks, int shards, FaultSpec spec) {
      this.faults = new FaultModel(spec);
      this.shards = shards;
      List<InetSocketAddress> addresses =
          IntStream.range(0, shards).mapToObj(World::shard).toList();
      for (int rank = 0; rank < ranks; rank++) {
        RunParameters run =
            new RunParameters(
                RUN, COOKIE, 1, rank, ranks, 4, ELEMENTS, 0, addresses, ReleasePolicy.TWO_VERSION);
        int thisRank = rank;
        PacketNetwork network = receivers -> outbox(thisRank, receivers.get(0).getPort());
        engines.add(new Engine(run, network, TICK_NS, failures::add, ns -> {}, 0));
      }
      tick();
    }

    static InetSocketAddress shard(int index) {
      return InetSocketAddress.createUnresolved("switch", 1_000 + index);
    }

    Operation submit(int rank, ChunkCodec codec) {
      Operation operation = new Operation(codec, ELEMENTS, TIMEOUT_NS);
      engines.get(rank).submit(operation);
      at(nowNs, () -> engines.get(rank).onTurn(nowNs));
      return operation;
    }

    void runUntilDone(List<Operation> operations) {
      while (!operations.stream().allMatch(operation -> operation.future().isDone())) {
        assertTrue(nowNs < 100_000_000_000L, "no end in virtual time");
        step();
      }
    }

    void runFor(long ns) {
      long endNs = nowNs + ns;
      while (events.peek().atNs() <= endNs) {
        step();
      }
      nowNs = endNs;
    }

    private void step() {
      Event event = events.poll();
      nowNs = event.atNs();
      event.action().run();
    }

    private void at(long ns, Runnable action) {
      events.add(new Event(ns, order++, action));
    }

    private void tick() {
      engines.forEach(engine -> engine.onTurn(nowNs));
      at(nowNs + TICK_NS, this::tick);
    }

    private void send(byte[] bytes, java.util.function.Consumer<byte[]> receiver) {
      faults.next(bytes.length);
      for (int copy = 0; copy < faults.copies(); copy++) {
        byte[] arriving = bytes.clone();
        if (faults.damagedBit() >= 0) {
          arriving[faults.damagedBit() / 8] ^= (byte) (1 << faults.damagedBit() % 8);
        }
        at(nowNs + HOP_NS + faults.delayNs(copy), () -> receiver.accept(arriving));
      }
    }

    private Outbox outbox(int rank, int port) {
      UnsafeBuffer buffer = new UnsafeBuffer(new byte[4_096]);
      return new Outbox() {
        private int claimed;

        @Override
        public int claim(int packetBytes) {
          claimed = packetBytes;
          return 0;
        }

        @Override
        public MutableDirectBuffer buffer() {
          return buffer;
        }

        @Override
        public void commit() {
          byte[] bytes = Arrays.copyOf(buffer.byteArray(), claimed);
          send(bytes, arriving -> onSwitch(rank, port, arriving));
        }
      };
    }

    private void onSwitch(int rank, int port, byte[] bytes) {
      AggregationHeader packet = new AggregationHeader();
      UnsafeBuffer buffer = new UnsafeBuffer(bytes);
      if (packet.check(buffer, 0, bytes.length) != Malformed.NONE) {
        return;
      }
      if (packet.kind() != PacketKind.CONTRIBUTION) {
        reply(
            rank,
            port,
            packet.kind() == PacketKind.PROBE ? PacketKind.CHALLENGE : PacketKind.PROVED);
        return;
      }
      assertEquals(rank, Tag.sourceRank(packet.tag()));
      int count = packet.elementCount();
      Sum sum =
          sums.computeIfAbsent(port + "/" + packet.chunk(), key -> new Sum(engines.size(), count));
      boolean isNew = !sum.from[rank];
      if (isNew) {
        sum.from[rank] = true;
        int[] values = new int[count];
        Elements.read(buffer, packet.elementsOffset(), values, 0, count);
        for (int i = 0; i < count; i++) {
          boolean isFirst = Arrays.equals(sum.from, onlyRank(rank));
          sum.values[i] =
              !packet.carriesExponents()
                  ? sum.values[i] + values[i]
                  : isFirst ? values[i] : Math.max(sum.values[i], values[i]);
        }
        sum.exponent = Math.max(sum.exponent, packet.exponent());
        sum.nonFinite = Math.max(sum.nonFinite, packet.nonFinite());
      }
      for (boolean has : sum.from) {
        if (!has) {
          return;
        }
      }
      packet.exponent(sum.exponent).nonFinite(sum.nonFinite);
      bytes[11] = PacketKind.RESULT.code();
      Elements.write(sum.values, 0, buffer, packet.elementsOffset(), count);
      packet.finish(buffer);
      for (int receiver = 0; receiver < engines.size(); receiver++) {
        if (isNew || receiver == rank) {
          deliver(receiver, port, bytes);
        }
      }
    }

    private boolean[] onlyRank(int rank) {
      boolean[] only = new boolean[engines.size()];
      only[rank] = true;
      return only;
    }

    private void reply(int rank, int port, PacketKind kind) {
      UnsafeBuffer buffer = new UnsafeBuffer(new byte[AggregationHeader.packetBytes(0)]);
      AggregationHeader header = new AggregationHeader();
      header.start(buffer, 0, kind, 0).run(RUN).cookie(COOKIE).finish(buffer);
      deliver(rank, port, buffer.byteArray());
    }

    private void deliver(int rank, int port, byte[] bytes) {
      send(
          bytes,
          arriving -> {
            engines
                .get(rank)
                .onDatagram(
                    new UnsafeBuffer(arriving), 0, arriving.length, shard(port - 1_000), nowNs);
            engines.get(rank).onTurn(nowNs);
          });
    }

    @Override
    public String toString() {
      return engines.size() + " ranks, " + shards + " shards";
    }
  }

  @Test
  void minimumAndMaximumOfFloatsEqualTheJavaLibrarysBitForBit() {
    float[] specials = {
      0f,
      -0f,
      1f,
      -1f,
      Float.MIN_VALUE,
      -Float.MIN_VALUE,
      Float.MAX_VALUE,
      -Float.MAX_VALUE,
      Float.POSITIVE_INFINITY,
      Float.NEGATIVE_INFINITY,
      Float.NaN
    };
    for (OperationKind kind : List.of(OperationKind.MIN, OperationKind.MAX)) {
      for (float a : specials) {
        for (float b : specials) {
          int[] wordA = new int[1];
          int[] wordB = new int[1];
          float[] output = new float[1];
          new OrderedFloatCodec(kind, Operand.of(new float[] {a}), Operand.of(output))
              .encode(0, 1, 0, wordA);
          OrderedFloatCodec codec =
              new OrderedFloatCodec(kind, Operand.of(new float[] {b}), Operand.of(output));
          codec.encode(0, 1, 0, wordB);
          int[] reduced = {
            kind == OperationKind.MIN ? Math.min(wordA[0], wordB[0]) : Math.max(wordA[0], wordB[0])
          };
          codec.decode(reduced, 0, 1, 0);
          float expected = kind == OperationKind.MIN ? Math.min(a, b) : Math.max(a, b);
          assertArrayEquals(
              new int[] {Float.floatToIntBits(expected)},
              new int[] {Float.floatToIntBits(output[0])},
              kind + " of " + a + " and " + b);
        }
      }
    }
  }
}
