package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContributionBitmapTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 63, 64, 65, 1_000, 1_024})
  void anEntryIsFullOnceItsLastRankIsSetAndNotBefore(int ranks) {
    ContributionBitmap bitmap = new ContributionBitmap(3, ranks);
    for (int rank = 0; rank < ranks; rank++) {
      assertFalse(bitmap.isFull(1));
      assertFalse(bitmap.isSet(1, rank));
      assertTrue(bitmap.set(1, rank));
      assertTrue(bitmap.isSet(1, rank));
      assertEquals(rank + 1, bitmap.count(1));
    }
    assertTrue(bitmap.isFull(1));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 63, 64, 65, 1_000, 1_024})
  void aFullEntryLeavesItsNeighboursEmpty(int ranks) {
    ContributionBitmap bitmap = new ContributionBitmap(3, ranks);
    for (int rank = 0; rank < ranks; rank++) {
      bitmap.set(1, rank);
    }
    for (int neighbour : new int[] {0, 2}) {
      assertEquals(0, bitmap.count(neighbour));
      assertEquals(-1, bitmap.lowestSet(neighbour));
      for (int rank = 0; rank < ranks; rank++) {
        assertFalse(bitmap.isSet(neighbour, rank));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 63, 64, 65, 1_000, 1_024})
  void clearingAnEntryLeavesItsNeighboursFull(int ranks) {
    ContributionBitmap bitmap = new ContributionBitmap(3, ranks);
    for (int entry = 0; entry < 3; entry++) {
      for (int rank = 0; rank < ranks; rank++) {
        bitmap.set(entry, rank);
      }
    }
    bitmap.clear(1);
    assertEquals(0, bitmap.count(1));
    assertEquals(-1, bitmap.lowestSet(1));
    assertFalse(bitmap.isSet(1, ranks - 1));
    for (int neighbour : new int[] {0, 2}) {
      assertTrue(bitmap.isFull(neighbour));
      assertTrue(bitmap.isSet(neighbour, 0));
      assertTrue(bitmap.isSet(neighbour, ranks - 1));
    }
    assertTrue(bitmap.set(1, ranks - 1));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 63, 64, 65, 1_000, 1_024})
  void ranksOutOfRangeAreRefused(int ranks) {
    ContributionBitmap bitmap = new ContributionBitmap(3, ranks);
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.set(1, ranks));
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.set(1, -1));
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.isSet(1, ranks));
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.isSet(1, -1));
  }

  @Test
  void aRankSetTwiceCountsOnce() {
    ContributionBitmap bitmap = new ContributionBitmap(1, 65);
    assertTrue(bitmap.set(0, 64));
    assertFalse(bitmap.set(0, 64));
    assertEquals(1, bitmap.count(0));
    assertFalse(bitmap.isSet(0, 0));
  }

  @Test
  void theLowestSetRankIsFoundInAnyWord() {
    ContributionBitmap bitmap = new ContributionBitmap(2, 1_000);
    bitmap.set(1, 999);
    assertEquals(999, bitmap.lowestSet(1));
    bitmap.set(1, 64);
    assertEquals(64, bitmap.lowestSet(1));
    bitmap.set(1, 63);
    assertEquals(63, bitmap.lowestSet(1));
  }

  @Test
  void entriesOutOfRangeAreRefused() {
    ContributionBitmap bitmap = new ContributionBitmap(3, 65);
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.set(3, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.set(-1, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> bitmap.clear(3));
  }

  @Test
  void rankCountsOutOfRangeAreRefusedWithTheirLimits() {
    for (int ranks : new int[] {0, 1_025}) {
      assertEquals(
          "ranks " + ranks + " (1 to 1024)",
          assertThrows(IllegalArgumentException.class, () -> new ContributionBitmap(1, ranks))
              .getMessage());
    }
  }
}
