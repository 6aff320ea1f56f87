package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.PacketKind;
import dev.sumac.reliability.FaultModel;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.reliability.RttEstimator;
import dev.sumac.reliability.SendWindow;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The workers' windows and the switch's pool together, in virtual time, against the simplest model
 * there is: for each chunk the set of ranks that are in its sum. jqwik prints the seed of a failure
 * and replays from it.
 */
final class WindowAndPoolTest {
  private static final long HOP_NS = 40_000;
  private static final long TICK_NS = 1_000_000;
  private static final long LIMIT_NS = 600_000_000_000L;

  @Property(tries = 120)
  void everyChunkIsSummedOnceFromEveryRankWhateverTheNetworkDoes(
      @ForAll @IntRange(min = 1, max = 5) int ranks,
      @ForAll @IntRange(min = 0, max = 4) int slotBits,
      @ForAll @IntRange(min = 0, max = 30) int percent,
      @ForAll @LongRange(min = 0, max = 1L << 48) long firstChunk,
      @ForAll long seed) {
    double share = percent / 100.0;
    new World(
            ranks,
            1 << slotBits,
            firstChunk,
            new FaultSpec(share, 1, share, share, 3_000_000, 0, seed))
        .run(40);
  }

  /** Chunk numbers that pass the top of a counter of 15, 16, 24, 31, 32 or 53 bits. */
  @ParameterizedTest
  @Tag("case-57")
  @CsvSource({
    "15, 2", "15, 8", "16, 2", "16, 8", "24, 2", "24, 8", "31, 2", "31, 8", "32, 2", "32, 8",
    "53, 8"
  })
  void chunkNumbersPassTheTopOfNarrowerCounters(int bits, int slots) {
    for (long seed = 1; seed <= 10; seed++) {
      World world =
          new World(
              3, slots, (1L << bits) - 5, new FaultSpec(0.05, 1, 0.05, 0.05, 2_000_000, 0, seed));
      world.run(100);
      assertEquals(
          0, world.verdicts.getOrDefault(Verdict.FROM_THE_FUTURE, 0), "false future, seed " + seed);
      assertEquals(0, world.verdicts.getOrDefault(Verdict.MISMATCH, 0), "seed " + seed);
    }
  }

  /** Without faults nothing is taken for old, repeated or out of order at any boundary. */
  @ParameterizedTest
  @Tag("case-57")
  @CsvSource({"15", "16", "24", "31", "32", "53"})
  void withoutFaultsEveryVerdictIsOpenedOrAddedAtEveryBoundary(int bits) {
    World world = new World(2, 4, (1L << bits) - 5, FaultSpec.NONE);
    world.run(200);
    assertEquals(Map.of(Verdict.OPENED, 200, Verdict.ADDED, 200), world.verdicts);
  }

  /** All ranks, the network and the pool. */
  private static final class World {
    final Map<Verdict, Integer> verdicts = new HashMap<>();
    private final int ranks;
    private final int slots;
    private final long firstChunk;
    private final FaultModel faults;
    private final String label;
    private final SlotPool pool;
    private final List<SendWindow> windows = new ArrayList<>();
    private final Map<Long, BitSet> model = new HashMap<>();
    private final Map<Long, BitSet> received = new HashMap<>();
    private final AggregationHeader header = new AggregationHeader();
    private final UnsafeBuffer bytes = new UnsafeBuffer(new byte[AggregationHeader.HEADER_BYTES]);
    private final PriorityQueue<Event> events =
        new PriorityQueue<>(Comparator.comparingLong(Event::atNs).thenComparingLong(Event::order));
    private long endChunk;
    private long order;
    private long nowNs;

    private record Event(long atNs, long order, Runnable action) {}

    World(int ranks, int slots, long firstChunk, FaultSpec spec) {
      this.ranks = ranks;
      this.slots = slots;
      this.firstChunk = firstChunk;
      this.faults = new FaultModel(spec);
      this.label = ranks + " ranks, " + slots + " slots, first chunk " + firstChunk + ", " + spec;
      this.pool = new SlotPool(slots, ranks, firstChunk, ReleasePolicy.TWO_VERSION);
      for (int rank = 0; rank < ranks; rank++) {
        int thisRank = rank;
        windows.add(
            new SendWindow(
                slots, firstChunk, new RttEstimator(), chunk -> contribute(thisRank, chunk)));
      }
    }

    void run(int chunks) {
      endChunk = firstChunk + chunks;
      for (int rank = 0; rank < ranks; rank++) {
        for (int slot = 0; slot < slots; slot++) {
          sendNext(rank, slot);
        }
      }
      tick();
      while (!isDone()) {
        Event event = events.poll();
        nowNs = event.atNs();
        assertTrue(nowNs < LIMIT_NS, () -> "no end: " + label);
        event.action().run();
      }
      for (long chunk = firstChunk; chunk < endChunk; chunk++) {
        assertEquals(ranks, model.get(chunk).cardinality(), label);
        assertEquals(ranks, received.get(chunk).cardinality(), label);
      }
      assertEquals(chunks, model.size(), label);
    }

    private boolean isDone() {
      return received.size() == endChunk - firstChunk
          && received.values().stream().allMatch(got -> got.cardinality() == ranks);
    }

    private void tick() {
      windows.forEach(window -> window.poll(nowNs));
      events.add(new Event(nowNs + TICK_NS, order++, this::tick));
    }

    private void sendNext(int rank, int slot) {
      long chunk = windows.get(rank).sendable(slot);
      if (chunk >= 0 && chunk < endChunk) {
        windows.get(rank).sent(slot, nowNs);
        contribute(rank, chunk);
      }
    }

    private void contribute(int rank, long chunk) {
      send(() -> onSwitch(rank, chunk));
    }

    private void send(Runnable arrival) {
      faults.next(100);
      for (int copy = 0; copy < faults.copies(); copy++) {
        events.add(new Event(nowNs + HOP_NS + faults.delayNs(copy), order++, arrival));
      }
    }

    private void onSwitch(int rank, long chunk) {
      header.start(bytes, 0, PacketKind.CONTRIBUTION, 0).chunk(chunk);
      Verdict verdict = pool.contribute(rank, header);
      verdicts.merge(verdict, 1, Integer::sum);
      switch (verdict) {
        case OPENED, ADDED -> {
          BitSet in = model.computeIfAbsent(chunk, key -> new BitSet());
          assertEquals(verdict == Verdict.OPENED, in.isEmpty(), label);
          assertTrue(!in.get(rank), () -> "added twice: " + label);
          in.set(rank);
          if (in.cardinality() == ranks) {
            for (int receiver = 0; receiver < ranks; receiver++) {
              result(receiver, chunk);
            }
          }
        }
        case ALREADY_COMPLETE -> {
          assertEquals(ranks, model.get(chunk).cardinality(), label);
          result(rank, chunk);
        }
        case DUPLICATE -> assertTrue(model.get(chunk).get(rank), label);
        case STALE -> assertEquals(ranks, model.get(chunk).cardinality(), label);
        case FROM_THE_FUTURE, MISMATCH ->
            throw new AssertionError(verdict + " of chunk " + chunk + ": " + label);
      }
    }

    private void result(int rank, long chunk) {
      send(
          () -> {
            if (windows.get(rank).accept(chunk, nowNs)) {
              BitSet got = received.computeIfAbsent(chunk, key -> new BitSet());
              assertTrue(!got.get(rank), () -> "used twice: " + label);
              got.set(rank);
              sendNext(rank, windows.get(rank).slotOf(chunk));
            }
          });
    }
  }
}
