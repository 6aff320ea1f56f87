package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.OperationKind;
import dev.sumac.protocol.PacketKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SlotPoolTest {
  private final AggregationHeader packet = new AggregationHeader();
  private final UnsafeBuffer bytes = new UnsafeBuffer(new byte[64]);

  @Test
  void aChunkBelongsToItsSlotAndVersion() {
    SlotPool pool = new SlotPool(8, 2, 0, ReleasePolicy.TWO_VERSION);
    assertEquals(0, pool.entryOf(0));
    assertEquals(14, pool.entryOf(7));
    assertEquals(1, pool.entryOf(8));
    assertEquals(15, pool.entryOf(15));
    assertEquals(0, pool.entryOf(16));
    assertEquals(pool.entryOf(5), pool.entryOf(5 + (1L << 40)));
  }

  @Test
  void theFirstOpensOthersAreAddedAndTheLastCompletes() {
    SlotPool pool = new SlotPool(2, 3, 0, ReleasePolicy.TWO_VERSION);
    assertEquals(Verdict.OPENED, contribute(pool, 1, 0));
    assertEquals(Verdict.ADDED, contribute(pool, 0, 0));
    assertFalse(pool.isComplete(0));
    assertEquals(Verdict.ADDED, contribute(pool, 2, 0));
    assertTrue(pool.isComplete(0));
  }

  @Test
  void aDuplicateIsNotAddedAgain() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.TWO_VERSION);
    contribute(pool, 1, 0);
    assertEquals(Verdict.DUPLICATE, contribute(pool, 1, 0));
    assertFalse(pool.isComplete(0));
  }

  @Test
  void aLateDuplicateOfAFinishedChunkIsAlreadyComplete() {
    SlotPool pool = complete(new SlotPool(2, 2, 0, ReleasePolicy.TWO_VERSION), 2, 0);
    assertEquals(Verdict.ALREADY_COMPLETE, contribute(pool, 0, 0));
    assertEquals(Verdict.ALREADY_COMPLETE, contribute(pool, 1, 0));
  }

  @Test
  void aDuplicateAfterTheEntryMovedOnIsStale() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.TWO_VERSION);
    complete(pool, 2, 0);
    complete(pool, 2, 2);
    assertEquals(Verdict.OPENED, contribute(pool, 0, 4));
    assertEquals(Verdict.STALE, contribute(pool, 1, 0));
    assertEquals(Verdict.ADDED, contribute(pool, 1, 4));
  }

  /** The hazard of one version bit: chunk 0's duplicate has the version bit of chunk 4. */
  @Test
  void aStaleDuplicateIsNotTakenForANewContributionOfTheSameVersion() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.TWO_VERSION);
    complete(pool, 2, 0);
    complete(pool, 2, 2);
    assertEquals(Verdict.OPENED, contribute(pool, 0, 4));
    assertEquals(Verdict.STALE, contribute(pool, 1, 0));
    assertFalse(pool.isComplete(pool.entryOf(4)));
  }

  @Test
  void aChunkIsLetInOnlyWhenTheOtherVersionIsComplete() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.TWO_VERSION);
    contribute(pool, 0, 0);
    assertEquals(Verdict.FROM_THE_FUTURE, contribute(pool, 0, 2));
    contribute(pool, 1, 0);
    assertEquals(Verdict.OPENED, contribute(pool, 0, 2));
    assertEquals(Verdict.FROM_THE_FUTURE, contribute(pool, 0, 4));
  }

  @ParameterizedTest
  @EnumSource(ReleasePolicy.class)
  void anEntryMovesByTwiceTheSlotsAndByNothingElse(ReleasePolicy policy) {
    SlotPool pool = new SlotPool(2, 1, 0, policy);
    assertEquals(Verdict.FROM_THE_FUTURE, contribute(pool, 0, 4));
    assertEquals(Verdict.OPENED, contribute(pool, 0, 0));
    pool.acknowledge(0, 0);
    assertEquals(Verdict.OPENED, contribute(pool, 0, 2));
    assertEquals(Verdict.FROM_THE_FUTURE, contribute(pool, 0, 8));
    assertEquals(Verdict.OPENED, contribute(pool, 0, 4));
  }

  @Test
  void whateverDisagreesWithTheFirstContributionIsAMismatch() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.TWO_VERSION);
    contribute(pool, 0, 0);
    assertEquals(Verdict.MISMATCH, pool.contribute(1, header(0).operation(9)));
    assertEquals(Verdict.MISMATCH, pool.contribute(1, header(0).operationElements(9)));
    assertEquals(Verdict.MISMATCH, pool.contribute(1, header(0).elementCount(9)));
    assertEquals(Verdict.MISMATCH, pool.contribute(1, header(0).operationKind(OperationKind.MAX)));
    assertEquals(
        Verdict.MISMATCH, pool.contribute(1, header(0).flags(AggregationHeader.EXPONENTS)));
    assertEquals(Verdict.ADDED, contribute(pool, 1, 0));
  }

  @Test
  void exponentAndNonFiniteKeepTheMaximum() {
    SlotPool pool = new SlotPool(2, 3, 0, ReleasePolicy.TWO_VERSION);
    pool.contribute(0, header(0).exponent(-100));
    pool.contribute(1, header(0).exponent(-20).nonFinite(1));
    pool.contribute(2, header(0).exponent(-50));
    AggregationHeader result = new AggregationHeader();
    result.start(bytes, 0, PacketKind.RESULT, 0);
    pool.describe(0, result);
    assertEquals(-20, result.exponent());
    assertEquals(1, result.nonFinite());
  }

  @Test
  void withoutAcknowledgementsTheWholePoolIsClearedAndCounted() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.ACKNOWLEDGED);
    for (long chunk = 0; chunk < 4; chunk++) {
      complete(pool, 2, chunk);
    }
    pool.acknowledge(0, 0);
    assertEquals(Verdict.OPENED, contribute(pool, 0, 4));
    assertEquals(1, pool.clears());
    assertFalse(pool.isComplete(pool.entryOf(1)), "chunk 1 was given up too");
    assertEquals(Verdict.OPENED, contribute(pool, 1, 1), "and starts its second life");
    assertEquals(Verdict.ADDED, contribute(pool, 0, 1));
    assertTrue(pool.isComplete(pool.entryOf(1)));
  }

  @Test
  void withAllAcknowledgementsNothingIsEverCleared() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.ACKNOWLEDGED);
    for (long chunk = 0; chunk < 100; chunk++) {
      complete(pool, 2, chunk);
      assertTrue(pool.acknowledge(0, chunk));
      assertFalse(pool.acknowledge(0, chunk), "no news");
      assertTrue(pool.acknowledge(1, chunk));
    }
    assertEquals(0, pool.clears());
  }

  @Test
  void anAcknowledgementOfAnotherOrAnUnfinishedChunkCountsForNothing() {
    SlotPool pool = new SlotPool(2, 2, 0, ReleasePolicy.ACKNOWLEDGED);
    contribute(pool, 0, 0);
    assertFalse(pool.acknowledge(0, 0));
    contribute(pool, 1, 0);
    assertFalse(pool.acknowledge(0, 4));
    assertTrue(pool.acknowledge(0, 0));
  }

  /** Case 57. */
  @ParameterizedTest
  @ValueSource(longs = {0, 32_763, 65_531, 16_777_211, 2_147_483_643L, 4_294_967_291L})
  void numbersCrossEveryWrapWithoutAFalseVerdict(long firstChunk) {
    for (ReleasePolicy policy : ReleasePolicy.values()) {
      SlotPool pool = new SlotPool(4, 2, firstChunk, policy);
      for (long chunk = firstChunk; chunk < firstChunk + 200; chunk++) {
        assertEquals(Verdict.OPENED, contribute(pool, 0, chunk));
        assertEquals(Verdict.ADDED, contribute(pool, 1, chunk));
        assertEquals(Verdict.ALREADY_COMPLETE, contribute(pool, 0, chunk));
        if (chunk >= firstChunk + 8) {
          assertEquals(Verdict.STALE, contribute(pool, 0, chunk - 8));
        }
        pool.acknowledge(0, chunk);
        pool.acknowledge(1, chunk);
      }
      assertEquals(0, pool.clears());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 64, 65, 1_000, 1_024})
  void everyWorldSizeCompletesWithItsLastRank(int worldSize) {
    SlotPool pool = new SlotPool(1, worldSize, 0, ReleasePolicy.TWO_VERSION);
    for (int rank = 0; rank < worldSize; rank++) {
      assertFalse(pool.isComplete(0));
      assertEquals(rank == 0 ? Verdict.OPENED : Verdict.ADDED, contribute(pool, rank, 0));
    }
    assertTrue(pool.isComplete(0));
  }

  /**
   * Ranks that follow the worker's rule, on a network that duplicates, delays and loses: each
   * contribution enters the sum exactly once in the life of a chunk that completes, against a model
   * that is a map.
   */
  @ParameterizedTest
  @CsvSource({
    "1, TWO_VERSION", "2, TWO_VERSION", "3, TWO_VERSION", "4, TWO_VERSION", "5, TWO_VERSION",
    "1, ACKNOWLEDGED", "2, ACKNOWLEDGED", "3, ACKNOWLEDGED", "4, ACKNOWLEDGED", "5, ACKNOWLEDGED"
  })
  void everyContributionCountsExactlyOnceOnAHostileNetwork(long seed, ReleasePolicy policy) {
    int slots = 4;
    int ranks = 3;
    int chunks = 400;
    SplittableRandom random = new SplittableRandom(seed);
    SlotPool pool = new SlotPool(slots, ranks, 0, policy);
    Map<Long, boolean[]> model = new HashMap<>();
    boolean[][] hasResult = new boolean[ranks][chunks];
    List<long[]> network = new ArrayList<>();
    int completed = 0;
    int steps = 0;
    while (completed < ranks * chunks) {
      assertTrue(steps++ < 2_000_000, "no progress, seed " + seed);
      int rank = random.nextInt(ranks);
      int chunk = random.nextInt(chunks);
      boolean mayKnow = chunk < slots || hasResult[rank][chunk - slots];
      boolean mayRepeat = policy == ReleasePolicy.ACKNOWLEDGED;
      if (mayKnow
          && (!hasResult[rank][chunk] || (mayRepeat && isRecent(hasResult, chunk, slots)))) {
        network.add(new long[] {rank, chunk});
      }
      while (network.size() > random.nextInt(40)) {
        long[] arriving = network.get(random.nextInt(network.size()));
        if (random.nextInt(4) != 0) {
          network.remove(arriving);
        }
        if (random.nextInt(10) == 0) {
          continue; // Lost.
        }
        completed +=
            deliver(pool, policy, model, hasResult, (int) arriving[0], arriving[1], random, seed);
      }
    }
  }

  /**
   * Workers keep two generations: they repeat a chunk only while its successor's successor can't
   * have begun.
   */
  private static boolean isRecent(boolean[][] hasResult, int chunk, int slots) {
    int successor = chunk + slots;
    for (boolean[] results : hasResult) {
      if (successor < results.length && results[successor]) {
        return false;
      }
    }
    return true;
  }

  private int deliver(
      SlotPool pool,
      ReleasePolicy policy,
      Map<Long, boolean[]> model,
      boolean[][] hasResult,
      int rank,
      long chunk,
      SplittableRandom random,
      long seed) {
    long clears = pool.clears();
    Verdict verdict = contribute(pool, rank, chunk);
    if (pool.clears() != clears) {
      model.clear();
    }
    if (verdict == Verdict.OPENED) {
      model.put(chunk, new boolean[hasResult.length]);
    }
    if (verdict == Verdict.OPENED || verdict == Verdict.ADDED) {
      boolean[] counted = model.get(chunk);
      assertFalse(counted[rank], "counted twice, seed " + seed);
      counted[rank] = true;
    }
    int newResults = 0;
    int entry = pool.entryOf(chunk);
    if (pool.holds(entry, chunk) && pool.isComplete(entry)) {
      for (boolean counted : model.get(chunk)) {
        assertTrue(counted, "complete without a rank, seed " + seed);
      }
      for (int receiver = 0; receiver < hasResult.length; receiver++) {
        if (random.nextInt(3) != 0 && !hasResult[receiver][(int) chunk]) {
          hasResult[receiver][(int) chunk] = true;
          newResults++;
          if (policy == ReleasePolicy.ACKNOWLEDGED && random.nextInt(3) != 0) {
            pool.acknowledge(receiver, chunk);
          }
        }
      }
    }
    return newResults;
  }

  private SlotPool complete(SlotPool pool, int ranks, long chunk) {
    for (int rank = 0; rank < ranks; rank++) {
      contribute(pool, rank, chunk);
    }
    return pool;
  }

  private Verdict contribute(SlotPool pool, int rank, long chunk) {
    return pool.contribute(rank, header(chunk));
  }

  private AggregationHeader header(long chunk) {
    return packet.start(bytes, 0, PacketKind.CONTRIBUTION, 0).chunk(chunk).operationElements(100);
  }
}
