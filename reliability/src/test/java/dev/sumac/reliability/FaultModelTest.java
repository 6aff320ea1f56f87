package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FaultModelTest {
  private static final int PACKETS = 1_000_000;
  private static final FaultSpec EVERYTHING = new FaultSpec(0.1, 3, 0.1, 0.1, 1_000_000, 0.1, 42);

  @Test
  void theSameSeedGivesTheSameVerdicts() {
    assertEquals(verdicts(EVERYTHING), verdicts(EVERYTHING));
  }

  @Test
  void anotherSeedGivesOtherVerdicts() {
    assertNotEquals(verdicts(EVERYTHING), verdicts(EVERYTHING.withSeed(43)));
  }

  @Test
  void withoutFaultsEveryPacketArrivesOnceAtOnceAndWhole() {
    FaultModel model = new FaultModel(FaultSpec.NONE);
    for (int i = 0; i < 1_000; i++) {
      model.next(100);
      assertEquals(1, model.copies());
      assertEquals(0, model.delayNs(0));
      assertEquals(FaultModel.UNDAMAGED, model.damagedBit());
    }
  }

  @Test
  void independentLossesHaveTheShareAndTheRunsOfACoin() {
    // Standard deviation of the share: sqrt(0.1 x 0.9 / 10^6) = 0.0003; of the mean run of about
    // 90,000: sqrt(0.1) / 0.9 / 300 = 0.0012. Bounds are five of them.
    assertLosses("loss=0.1,burst=1,seed=5", 0.1, 0.0015, 1 / 0.9, 0.006);
  }

  @Test
  void burstsHaveTheirShareInTheLongRunAndTheirMeanLength() {
    // About 1,000 runs of 100: standard deviation of their mean is 100 / sqrt(1,000) = 3.2, of the
    // share about 0.1 x sqrt(2 x 0.9 / 1,000) = 0.0042. Bounds are four of them.
    assertLosses("loss=0.1,burst=100,seed=5", 0.1, 0.017, 100, 12.7);
  }

  @Test
  void mostPacketsCanBeLostInShortBursts() {
    // A run of 1.5 at a share of 0.9 would leave gaps shorter than one packet: the share wins.
    assertLosses("loss=0.9,burst=1.5,seed=5", 0.9, 0.002, 10 * 0.9, 0.2);
  }

  @Test
  void aLossOfOneLosesEverythingWhateverTheBurst() {
    for (String burst : new String[] {"1", "2", "100"}) {
      FaultModel model = new FaultModel(FaultSpec.parse("loss=1,burst=" + burst));
      for (int i = 0; i < 10_000; i++) {
        model.next(100);
        assertEquals(0, model.copies(), "burst " + burst);
      }
      assertEquals(10_000, model.lost());
    }
  }

  @Test
  void aDuplicateArrivesTwiceAndItsCopyLater() {
    FaultModel model = new FaultModel(FaultSpec.parse("duplicate=1,delay-us=10"));
    for (int i = 0; i < 1_000; i++) {
      model.next(100);
      assertEquals(2, model.copies());
      assertEquals(0, model.delayNs(0));
      assertTrue(model.delayNs(1) >= 1 && model.delayNs(1) <= 10_000);
    }
    assertEquals(1_000, model.duplicated());
  }

  @Test
  void aReorderedPacketIsHeldUpToTheDelay() {
    FaultModel model = new FaultModel(FaultSpec.parse("reorder=1,delay-us=10"));
    for (int i = 0; i < 1_000; i++) {
      model.next(100);
      assertEquals(1, model.copies());
      assertTrue(model.delayNs(0) >= 1 && model.delayNs(0) <= 10_000);
    }
    assertEquals(1_000, model.delayed());
  }

  @Test
  void aDamagedBitIsOneOfThePacket() {
    FaultModel model = new FaultModel(FaultSpec.parse("damage=1"));
    boolean[] seen = new boolean[16];
    for (int i = 0; i < 1_000; i++) {
      model.next(2);
      seen[model.damagedBit()] = true;
    }
    for (int bit = 0; bit < 16; bit++) {
      assertTrue(seen[bit], "bit " + bit);
    }
    assertEquals(1_000, model.damaged());
    model.next(0);
    assertEquals(FaultModel.UNDAMAGED, model.damagedBit());
  }

  private static void assertLosses(
      String spec, double share, double shareBound, double meanRun, double runBound) {
    FaultModel model = new FaultModel(FaultSpec.parse(spec));
    int lost = 0;
    int runs = 0;
    boolean inRun = false;
    for (int i = 0; i < PACKETS; i++) {
      model.next(100);
      boolean isLost = model.copies() == 0;
      lost += isLost ? 1 : 0;
      runs += isLost && !inRun ? 1 : 0;
      inRun = isLost;
    }
    assertEquals(lost, model.lost());
    assertEquals(share, (double) lost / PACKETS, shareBound, spec);
    assertEquals(meanRun, (double) lost / runs, runBound, spec);
  }

  private static List<String> verdicts(FaultSpec spec) {
    FaultModel model = new FaultModel(spec);
    List<String> verdicts = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      model.next(100);
      verdicts.add(
          model.copies()
              + " "
              + model.delayNs(0)
              + " "
              + model.delayNs(1)
              + " "
              + model.damagedBit());
    }
    return verdicts;
  }
}
