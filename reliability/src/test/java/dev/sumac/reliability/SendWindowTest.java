package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SendWindowTest {
  private static final long MS = 1_000_000;

  /** A chunk that was sent again, and when. */
  private record Resent(long chunk, long atMs) {}

  private final List<Resent> resent = new ArrayList<>();
  private final RttEstimator rtt = new RttEstimator();
  private long nowNs;

  @Test
  void aChunkGoesThroughTheSlotOfItsNumberModuloTheSlots() {
    SendWindow window = window(8, 13, rtt);
    assertEquals(8, window.slots());
    assertEquals(5, window.slotOf(13));
    assertEquals(13, window.sendable(5));
    assertEquals(15, window.sendable(7));
    assertEquals(16, window.sendable(0));
    assertEquals(20, window.sendable(4));
  }

  @Test
  void aSlotWithAChunkInFlightTakesNoOther() {
    SendWindow window = window(8, 0, rtt);
    window.sent(3, 0);
    assertEquals(-1, window.sendable(3));
    assertTrue(window.isInFlight(3));
    assertFalse(window.isInFlight(4));
    assertFalse(window.isInFlight(11));
    assertFalse(window.isInFlight(-1));
    assertEquals(1, window.inFlightCount());
  }

  @Test
  void theResultOfAChunkMakesRoomForTheOneThatManySlotsFurtherOn() {
    SendWindow window = window(8, 0, rtt);
    window.sent(3, 0);
    assertTrue(window.accept(3, MS));
    assertEquals(11, window.sendable(3));
    assertFalse(window.isInFlight(3));
    assertEquals(0, window.inFlightCount());
  }

  @Test
  void duplicateLateAndNeverAskedResultsAreRefused() {
    SendWindow window = window(8, 0, rtt);
    assertFalse(window.accept(3, 0), "not sent yet");
    window.sent(3, 0);
    assertFalse(window.accept(11, 0), "the slot's next chunk");
    assertFalse(window.accept(-1, 0), "no chunk");
    assertFalse(window.accept(-5, 0), "no chunk of that slot");
    assertTrue(window.accept(3, MS));
    assertFalse(window.accept(3, MS), "duplicate");
    window.sent(3, MS);
    assertFalse(window.accept(3, MS), "late, while its successor is in flight");
    assertEquals(1, window.inFlightCount());
    assertTrue(window.accept(11, MS));
  }

  @Test
  void aChunkThatAnswersToFourLaterOnesHavePassedIsSentAgainAtOnceAndOnceForEachSending() {
    SendWindow window = window(2, 0, fixedTimeout(20));
    window.sent(0, 0);
    window.sent(1, 0);
    for (long ms = 1; ms <= 14; ms++) {
      nowNs = ms * MS;
      assertTrue(window.accept(2 * ms - 1, nowNs));
      window.sent(1, nowNs);
      window.poll(nowNs);
    }
    assertEquals(List.of(new Resent(0, 4), new Resent(0, 9), new Resent(0, 14)), resent);
    assertEquals(3, window.retransmissions());
  }

  @Test
  void aLastChunkThatTooFewLaterOnesHavePassedIsSentAgainAtItsTimeout() {
    SendWindow window = window(4, 0, fixedTimeout(20));
    for (int slot = 0; slot < 4; slot++) {
      window.sent(slot, 0);
    }
    for (long chunk = 1; chunk < 4; chunk++) {
      assertTrue(window.accept(chunk, MS));
    }
    pollEachMillisecond(window, 1, 20);
    assertEquals(List.of(new Resent(0, 20)), resent);
  }

  @Test
  void aChunkThatGotItsResultIsNotSentAgain() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, 0);
    window.accept(0, 19 * MS);
    pollEachMillisecond(window, 0, 500);
    assertEquals(List.of(), resent);
    assertEquals(0, window.retransmissions());
  }

  @Test
  void theTimeFromSendingToTheResultIsASample() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, 5 * MS);
    window.accept(0, 8 * MS);
    assertEquals(3 * MS, rtt.smoothedNs());
  }

  @Test
  void aClockBelowZeroGivesSamplesToo() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, -500 * MS);
    window.accept(0, -497 * MS);
    assertEquals(3 * MS, rtt.smoothedNs());
  }

  @Test
  void aChunkThatWasSentTwiceGivesNoSample() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, 0);
    pollEachMillisecond(window, 0, 20);
    assertEquals(List.of(new Resent(0, 20)), resent);
    assertEquals(40 * MS, rtt.rtoNs());
    assertTrue(window.accept(0, 21 * MS));
    assertEquals(-1, rtt.smoothedNs());
    assertEquals(20 * MS, rtt.rtoNs());
  }

  @Test
  void inSilenceOnlyTheOldestIsProbedAndTheTimeoutDoublesUpToItsCeiling() {
    SendWindow window = window(4, 6, rtt);
    for (int slot = 0; slot < 4; slot++) {
      window.sent(slot, 0);
    }
    pollEachMillisecond(window, 0, 255);
    assertEquals(
        List.of(
            new Resent(6, 20),
            new Resent(6, 60),
            new Resent(6, 110),
            new Resent(6, 160),
            new Resent(6, 210)),
        resent);
  }

  @Test
  void theFirstResultEndsTheSilenceAndTheOthersGetOneMoreTimeout() {
    SendWindow window = window(4, 0, fixedTimeout(20));
    for (int slot = 0; slot < 4; slot++) {
      window.sent(slot, 0);
    }
    pollEachMillisecond(window, 0, 65);
    assertEquals(List.of(new Resent(0, 20), new Resent(0, 40), new Resent(0, 60)), resent);
    resent.clear();

    assertTrue(window.accept(0, 65 * MS));
    pollEachMillisecond(window, 66, 80);
    assertTrue(window.accept(1, 80 * MS));
    pollEachMillisecond(window, 81, 84);
    assertEquals(List.of(), resent);
    pollEachMillisecond(window, 85, 90);
    resent.sort((x, y) -> Long.compare(x.chunk(), y.chunk()));
    assertEquals(List.of(new Resent(2, 85), new Resent(3, 85)), resent);
  }

  @Test
  void theFirstChunkAfterAnIdleHourIsNotTakenForSilence() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, 0);
    assertTrue(window.accept(0, 3 * MS));
    long hour = 3_600_000;
    window.poll((hour - 1) * MS);
    window.sent(0, hour * MS);
    pollEachMillisecond(window, hour, hour + 8);
    // the only sample is 3 ms: it should have been answered after 4.5 ms, the timeout is 3 + 4 x
    // 1.5
    assertEquals(List.of(new Resent(1, hour + 5)), resent);
    pollEachMillisecond(window, hour + 9, hour + 10);
    assertEquals(List.of(new Resent(1, hour + 5), new Resent(1, hour + 9)), resent);
  }

  @Test
  void theLastChunksAreSentAgainOnceWhenResultsStopComing() {
    SendWindow window = window(16, 0, rtt);
    for (int slot = 0; slot < 16; slot++) {
      window.sent(slot, 0);
    }
    for (int chunk = 0; chunk < 14; chunk++) {
      assertTrue(window.accept(chunk, 4 * MS));
    }
    pollEachMillisecond(window, 4, 5);
    assertEquals(List.of(), resent);
    // half a round trip of 4 ms after the last result, one and a half after the last sending
    pollEachMillisecond(window, 6, 9);
    assertEquals(List.of(new Resent(14, 6), new Resent(15, 6)), resent);
  }

  @Test
  void manyChunksInFlightAreNoTail() {
    SendWindow window = window(16, 0, rtt);
    for (int slot = 0; slot < 16; slot++) {
      window.sent(slot, 0);
    }
    for (int chunk = 0; chunk < 13; chunk++) {
      assertTrue(window.accept(chunk, 4 * MS));
    }
    pollEachMillisecond(window, 4, 11);
    assertEquals(List.of(), resent);
  }

  @Test
  void aLatePollRepeatsNothingUntilItsCallerHadTimeToRead() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, 0);
    pollEachMillisecond(window, 0, 10);
    pollEachMillisecond(window, 50, 51);
    assertEquals(List.of(), resent);
    pollEachMillisecond(window, 52, 60);
    assertEquals(List.of(new Resent(0, 52)), resent);
  }

  @Test
  void whatIsReadAfterALatePollIsNotSentAgain() {
    SendWindow window = window(1, 0, rtt);
    window.sent(0, 0);
    pollEachMillisecond(window, 0, 10);
    pollEachMillisecond(window, 50, 50);
    assertTrue(window.accept(0, 51 * MS));
    pollEachMillisecond(window, 51, 500);
    assertEquals(List.of(), resent);
  }

  @Test
  void anAbandonedWindowRepeatsNothingAndAcceptsNothing() {
    SendWindow window = window(2, 0, rtt);
    window.sent(0, 0);
    window.sent(1, 0);
    window.abandon();
    assertEquals(0, window.inFlightCount());
    pollEachMillisecond(window, 0, 500);
    assertEquals(List.of(), resent);
    assertFalse(window.accept(0, 500 * MS));
  }

  @ParameterizedTest
  @ValueSource(longs = {(1L << 31) - 5, (1L << 32) - 5})
  void aHundredChunksCrossTheLimitsOfAnInt(long first) {
    SendWindow window = window(8, first, rtt);
    for (int slot = 0; slot < 8; slot++) {
      window.sent(slot, 0);
    }
    for (long chunk = first; chunk < first + 100; chunk++) {
      int slot = (int) (chunk % 8);
      assertEquals(slot, window.slotOf(chunk));
      assertTrue(window.isInFlight(chunk));
      assertFalse(window.isInFlight(chunk ^ (1L << 32)));
      assertFalse(window.accept(chunk ^ (1L << 32), 0));
      assertTrue(window.accept(chunk, 0));
      assertEquals(chunk + 8, window.sendable(slot));
      window.sent(slot, 0);
    }
  }

  @Test
  void slotsThatAreNoPowerOfTwoAndNegativeChunksAreRefused() {
    assertEquals(
        "slots 3 must be a power of two, first chunk 0 at least 0",
        assertThrows(IllegalArgumentException.class, () -> window(3, 0, rtt)).getMessage());
    assertEquals(
        "slots 4 must be a power of two, first chunk -1 at least 0",
        assertThrows(IllegalArgumentException.class, () -> window(4, -1, rtt)).getMessage());
  }

  @Property(tries = 200)
  void everyChunkIsAcceptedOnceUnderAnyLossAndOrder(
      @ForAll long seed,
      @ForAll @IntRange(max = 6) int slotBits,
      @ForAll @IntRange(max = 50) int lossPercent) {
    int slots = 1 << slotBits;
    new LossyExchange(slots, lossPercent, seed).run();
  }

  /** A window whose chunks and results get lost, late and doubled. */
  private static final class LossyExchange {
    private static final int CHUNKS = 200;
    private static final long LIMIT_NS = 600_000 * MS;

    /** A result on its way. */
    private record Result(long arrivalNs, long chunk) {}

    private final SplittableRandom random;
    private final int slots;
    private final int lossPercent;
    private final int[] accepted = new int[CHUNKS];
    private final PriorityQueue<Result> network =
        new PriorityQueue<>((a, b) -> Long.compare(a.arrivalNs(), b.arrivalNs()));
    private final SendWindow window;
    private long nowNs;
    private int done;

    LossyExchange(int slots, int lossPercent, long seed) {
      this.random = new SplittableRandom(seed);
      this.slots = slots;
      this.lossPercent = lossPercent;
      this.window = new SendWindow(slots, 0, new RttEstimator(), this::transmit);
    }

    void run() {
      while (done < CHUNKS) {
        assertTrue(nowNs < LIMIT_NS, "only " + done + " chunks are done");
        for (int slot = 0; slot < slots; slot++) {
          long chunk = window.sendable(slot);
          if (chunk >= 0 && chunk < CHUNKS) {
            window.sent(slot, nowNs);
            transmit(chunk);
          }
        }
        assertTrue(window.inFlightCount() <= slots);
        nowNs += MS / 2;
        receive();
        window.poll(nowNs);
      }
      for (int chunk = 0; chunk < CHUNKS; chunk++) {
        assertEquals(1, accepted[chunk], "chunk " + chunk);
      }
      assertEquals(0, window.inFlightCount());
    }

    private void transmit(long chunk) {
      for (int copies = 1 + random.nextInt(2); copies > 0; copies--) {
        if (random.nextInt(100) >= lossPercent) {
          network.add(new Result(nowNs + random.nextLong(30 * MS), chunk));
        }
      }
    }

    private void receive() {
      while (!network.isEmpty() && network.peek().arrivalNs() <= nowNs) {
        long chunk = network.poll().chunk();
        if (window.accept(chunk, nowNs)) {
          accepted[(int) chunk]++;
          done++;
        }
      }
    }
  }

  private SendWindow window(int slots, long firstChunk, RttEstimator estimator) {
    return new SendWindow(
        slots, firstChunk, estimator, chunk -> resent.add(new Resent(chunk, nowNs / MS)));
  }

  private static RttEstimator fixedTimeout(long ms) {
    return new RttEstimator(ms * MS, ms * MS);
  }

  private void pollEachMillisecond(SendWindow window, long fromMs, long toMs) {
    for (long ms = fromMs; ms <= toMs; ms++) {
      nowNs = ms * MS;
      window.poll(nowNs);
    }
  }
}
