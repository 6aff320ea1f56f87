package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RttEstimatorTest {
  @Test
  void beforeTheFirstSampleTheTimeoutIsTwentyMilliseconds() {
    RttEstimator rtt = new RttEstimator();
    assertEquals(20_000_000, rtt.rtoNs());
    assertEquals(-1, rtt.smoothedNs());
  }

  @Test
  void theFirstTimeoutStaysWithinItsBounds() {
    assertEquals(30_000_000, new RttEstimator(30_000_000, 40_000_000).rtoNs());
    assertEquals(5_000_000, new RttEstimator(1_000_000, 5_000_000).rtoNs());
  }

  @Test
  void theFirstSampleIsTheEstimateAndHalfOfItTheVariation() {
    RttEstimator rtt = new RttEstimator();
    rtt.sample(1_000_000);
    assertEquals(1_000_000, rtt.smoothedNs());
    // 1 ms + 4 x 0.5 ms
    assertEquals(3_000_000, rtt.rtoNs());
  }

  @Test
  void laterSamplesMoveTheEstimateByAnEighthAndTheVariationByAQuarter() {
    RttEstimator rtt = new RttEstimator();
    rtt.sample(1_000_000);
    rtt.sample(2_000_000);
    // variation 500,000 + (1,000,000 - 500,000) / 4 = 625,000; estimate 1,000,000 + 1,000,000 / 8
    assertEquals(1_125_000, rtt.smoothedNs());
    assertEquals(3_625_000, rtt.rtoNs());
    rtt.sample(1_125_000);
    // variation 625,000 - 625,000 / 4 = 468,750; estimate unmoved
    assertEquals(1_125_000, rtt.smoothedNs());
    assertEquals(3_000_000, rtt.rtoNs());
    rtt.sample(325_000);
    // variation 468,750 + 331,250 / 4 = 551,562; estimate 1,125,000 - 800,000 / 8
    assertEquals(1_025_000, rtt.smoothedNs());
    assertEquals(3_231_248, rtt.rtoNs());
  }

  @Test
  void aSmallVariationCountsAsTheGranularityOfTheClock() {
    RttEstimator rtt = new RttEstimator();
    rtt.sample(100_000);
    // 4 x 50,000 is less than 1 ms
    assertEquals(1_100_000, rtt.rtoNs());
  }

  @Test
  void theTimeoutKeepsToItsFloorAndItsCeiling() {
    RttEstimator rtt = new RttEstimator(5_000_000, 8_000_000);
    rtt.sample(1_000);
    assertEquals(5_000_000, rtt.rtoNs());
    rtt = new RttEstimator(5_000_000, 8_000_000);
    rtt.sample(4_000_000);
    assertEquals(8_000_000, rtt.rtoNs());
  }

  @Test
  void aSampleWithAnotherRanksTimeoutInItCountsAsTwiceTheEstimateAndTheGranularity() {
    RttEstimator rtt = new RttEstimator();
    rtt.sample(1_000_000);
    rtt.sample(100_000_000);
    // counts as 3 ms: variation 500,000 + (2,000,000 - 500,000) / 4, estimate 1 ms + 2 ms / 8
    assertEquals(1_250_000, rtt.smoothedNs());
    assertEquals(1_250_000 + 4 * 875_000, rtt.rtoNs());
  }

  @Test
  void timeoutsOfOtherRanksDoNotFeedOnThemselves() {
    RttEstimator rtt = new RttEstimator();
    for (int i = 0; i < 1_000; i++) {
      // every fourth sample contains a whole timeout
      rtt.sample(i % 4 == 3 ? 500_000 + rtt.rtoNs() : 500_000);
      assertTrue(rtt.rtoNs() < 8_000_000, "timeout " + rtt.rtoNs());
    }
  }

  @Test
  void theEstimateAloneNeverAsksForMoreThanTwentyMilliseconds() {
    RttEstimator rtt = new RttEstimator();
    rtt.sample(50_000_000);
    assertEquals(20_000_000, rtt.rtoNs());
    rtt.backOff();
    assertEquals(40_000_000, rtt.rtoNs());
  }

  @Test
  void eachBackOffDoublesTheTimeoutUpToTheCeiling() {
    RttEstimator rtt = new RttEstimator(1_000_000, 20_000_000);
    rtt.sample(1_000_000);
    long[] expectedNs = {3_000_000, 6_000_000, 12_000_000, 20_000_000, 20_000_000};
    for (long ns : expectedNs) {
      assertEquals(ns, rtt.rtoNs());
      rtt.backOff();
    }
  }

  @Test
  void aThousandBackOffsStayAtTheCeiling() {
    RttEstimator rtt = new RttEstimator();
    for (int i = 0; i < 1_000; i++) {
      rtt.backOff();
    }
    assertEquals(50_000_000, rtt.rtoNs());
  }

  @Test
  void anAnswerEndsTheBackOffAndKeepsTheEstimate() {
    RttEstimator rtt = new RttEstimator();
    rtt.sample(1_000_000);
    rtt.backOff();
    rtt.backOff();
    rtt.endBackOff();
    assertEquals(3_000_000, rtt.rtoNs());
    assertEquals(1_000_000, rtt.smoothedNs());
  }

  @Test
  void aSampleEndsTheBackOff() {
    RttEstimator rtt = new RttEstimator();
    rtt.backOff();
    rtt.sample(1_000_000);
    assertEquals(3_000_000, rtt.rtoNs());
  }

  @Test
  void boundsThatAreNoRangeAreRefused() {
    assertEquals(
        "timeout bounds 0 to 5 ns",
        assertThrows(IllegalArgumentException.class, () -> new RttEstimator(0, 5)).getMessage());
    assertEquals(
        "timeout bounds 6 to 5 ns",
        assertThrows(IllegalArgumentException.class, () -> new RttEstimator(6, 5)).getMessage());
  }
}
