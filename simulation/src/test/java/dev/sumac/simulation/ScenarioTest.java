package dev.sumac.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Schedules of every scenario, and that a seed is a schedule. */
final class ScenarioTest {
  private static final long SEEDS = 300;

  @ParameterizedTest
  @EnumSource(Scenario.class)
  void theOracleObjectsToNothing(Scenario scenario) throws InterruptedException {
    Simulator.Report report = Simulator.run(scenario, 1_000_001, SEEDS, 2, done -> {});
    assertNull(report.violation(), "seed " + report.failedSeed());
    assertEquals(SEEDS, report.schedules());
  }

  @ParameterizedTest
  @EnumSource(Scenario.class)
  void theSameSeedGivesTheSameTraceByteForByte(Scenario scenario) {
    StringBuilder first = new StringBuilder();
    StringBuilder second = new StringBuilder();
    assertNull(Simulator.trace(scenario, 7, first));
    assertNull(Simulator.trace(scenario, 7, second));
    assertTrue(first.length() > 100);
    assertEquals(first.toString(), second.toString());
  }

  @Test
  void anotherSeedGivesAnotherTrace() {
    StringBuilder first = new StringBuilder();
    StringBuilder second = new StringBuilder();
    assertNull(Simulator.trace(Scenario.HOSTILE, 1, first));
    assertNull(Simulator.trace(Scenario.HOSTILE, 2, second));
    assertFalse(first.toString().equals(second.toString()));
  }

  /** Seeds that once found a fault, or a hole in the oracle; what it was. */
  @ParameterizedTest
  @CsvSource({
    "LOSS, 83, operations under heavy loss took longer than their limit",
    "BURST, 12, a burst of losses outlasted the limit because probes were 200 ms apart",
    "DAMAGE, 84, as LOSS 83",
  })
  void whatWasFoundOnceStaysMended(Scenario scenario, long seed, String what) {
    assertNull(Simulator.trace(scenario, seed, new StringBuilder()), what);
  }
}
