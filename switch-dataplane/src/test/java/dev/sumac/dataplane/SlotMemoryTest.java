package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.OperationKind;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class SlotMemoryTest {
  @Test
  void memoryIsSlotsTimesElementsTimesFourBytesTimesTwo() {
    assertEquals(2_048L * 352 * 4 * 2, SlotMemory.bytes(2_048, 352));
    assertEquals(2_048 * 352 * 2, new SlotMemory(2_048, 352).values().length);
  }

  @Test
  void lentSlotsNeverOverlapAndComeBackWiped() {
    SlotMemory memory = new SlotMemory(8, 3);
    int[] a = memory.lend(3);
    int[] b = memory.lend(4);
    Set<Integer> bases = new HashSet<>();
    for (int base : a) {
      assertTrue(bases.add(base));
    }
    for (int base : b) {
      assertTrue(bases.add(base));
      memory.values()[base + 2] = 7;
    }
    assertEquals(1, memory.freeCount());
    assertThrows(IllegalStateException.class, () -> memory.lend(2));
    memory.takeBack(b);
    assertEquals(5, memory.freeCount());
    assertArrayEquals(new int[48], memory.values());
    assertEquals(5 * 2, memory.lend(5).length);
  }

  @Test
  void theReducerDoesWhatALoopDoes() {
    SplittableRandom random = new SplittableRandom(1);
    for (OperationKind kind : OperationKind.values()) {
      int[] sums = random.ints(100).toArray();
      int[] values = random.ints(100).toArray();
      int[] expected = sums.clone();
      for (int i = 0; i < 80; i++) {
        expected[10 + i] =
            switch (kind) {
              case SUM -> sums[10 + i] + values[i];
              case MIN -> Math.min(sums[10 + i], values[i]);
              case MAX -> Math.max(sums[10 + i], values[i]);
            };
      }
      Reducer.reduce(kind, sums, 10, values, 80);
      assertArrayEquals(expected, sums);
    }
  }
}
