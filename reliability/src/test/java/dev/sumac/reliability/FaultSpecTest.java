package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FaultSpecTest {
  @Test
  void everyPartIsRead() {
    assertEquals(
        new FaultSpec(0.01, 3, 0.02, 0.03, 1_500_000, 0.001, 7),
        FaultSpec.parse(
            "loss=0.01,burst=3,duplicate=0.02,reorder=0.03,delay-us=1500,damage=0.001,seed=7"));
  }

  @Test
  void whatIsLeftOutIsAsWithoutFaults() {
    assertEquals(FaultSpec.NONE, FaultSpec.parse(""));
    assertTrue(FaultSpec.NONE.isNone());
    assertEquals(new FaultSpec(0.5, 1, 0, 0, 2_000_000, 0, 1), FaultSpec.parse(" loss = 0.5 , "));
  }

  @Test
  void anyOneFaultIsNotNone() {
    for (String text : new String[] {"loss=0.1", "duplicate=0.1", "reorder=0.1", "damage=0.1"}) {
      assertFalse(FaultSpec.parse(text).isNone(), text);
    }
    assertTrue(FaultSpec.parse("burst=5,delay-us=3,seed=9").isNone());
  }

  @Test
  void theTextNamesEveryPart() {
    assertEquals(
        "loss=0.01,burst=3.0,duplicate=0.0,reorder=0.0,delay-us=1500.0,damage=0.0,seed=7",
        new FaultSpec(0.01, 3, 0, 0, 1_500_000, 0, 7).toText());
  }

  @Test
  void anotherSeedChangesNothingElse() {
    FaultSpec spec = new FaultSpec(0.1, 2, 0.2, 0.3, 4, 0.5, 6);
    assertEquals(new FaultSpec(0.1, 2, 0.2, 0.3, 4, 0.5, 7), spec.withSeed(7));
  }

  @Property
  void everySpecComesBackFromItsText(
      @ForAll @DoubleRange(max = 1) double loss,
      @ForAll @DoubleRange(min = 1, max = 1e6) double burst,
      @ForAll @DoubleRange(max = 1) double duplicate,
      @ForAll @DoubleRange(max = 1) double reorder,
      @ForAll @LongRange(min = 1, max = 60_000_000_000L) long delayNs,
      @ForAll @DoubleRange(max = 1) double damage,
      @ForAll long seed) {
    FaultSpec spec = new FaultSpec(loss, burst, duplicate, reorder, delayNs, damage, seed);
    assertEquals(spec, FaultSpec.parse(spec.toText()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "loss=1.1 | loss 1.1 (0 to 1)",
        "loss=-0.1 | loss -0.1 (0 to 1)",
        "loss=NaN | loss NaN (0 to 1)",
        "duplicate=2 | duplicate 2.0 (0 to 1)",
        "reorder=2 | reorder 2.0 (0 to 1)",
        "damage=2 | damage 2.0 (0 to 1)",
        "burst=0.5 | burst 0.5 (1 to 1000000 packets)",
        "burst=NaN | burst NaN (1 to 1000000 packets)",
        "burst=2e6 | burst 2000000.0 (1 to 1000000 packets)",
        "delay-us=0 | delay 0 ns (at least 1)",
        "delay-us=-5 | delay -5000 ns (at least 1)",
        "loss=much | fault loss=much is not a number",
        "loss= | fault loss= is not a number",
        "seed=one | fault seed=one is not a whole number",
        "seed=1.5 | fault seed=1.5 is not a whole number",
        "loss | fault 'loss': name=value, each name once",
        "loss=0.1,loss=0.2 | fault 'loss=0.2': name=value, each name once",
        "lost=0.1 | unknown fault 'lost' (loss, burst, duplicate, reorder, delay-us, damage, seed)",
      })
  void aBadTextIsRefusedWithThePartThatIsWrong(String text, String message) {
    assertEquals(
        message,
        assertThrows(IllegalArgumentException.class, () -> FaultSpec.parse(text)).getMessage());
  }
}
