package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import java.util.Arrays;

/**
 * The values of all slots of one shard, taken once at start: {@code slots x 2 versions x elements x
 * 4 B}. Slots are lent to runs one by one, so that no run can fragment it. Used on the shard's
 * thread only.
 */
final class SlotMemory {
  /** The versions of one slot. */
  static final int VERSIONS = 2;

  private final int elements;
  private final int[] values;
  private final int[] free;
  private int freeCount;

  SlotMemory(int slots, int elements) {
    if (elements < 1 || elements > AggregationHeader.MAX_ELEMENTS) {
      throw new IllegalArgumentException(
          "elements " + elements + " (1 to " + AggregationHeader.MAX_ELEMENTS + ")");
    }
    this.elements = elements;
    this.values = new int[Math.toIntExact(bytes(slots, elements) / Integer.BYTES)];
    this.free = new int[slots];
    for (int i = 0; i < slots; i++) {
      free[i] = slots - 1 - i;
    }
    this.freeCount = slots;
  }

  /** What that many slots take. */
  static long bytes(int slots, int elements) {
    return (long) slots * VERSIONS * elements * Integer.BYTES;
  }

  /**
   * Lends slots; where the two versions' values of the i-th begin: {@code [2 i]} and {@code [2 i +
   * 1]}.
   */
  int[] lend(int count) {
    if (count > freeCount) {
      throw new IllegalStateException(count + " slots asked of " + freeCount + " free ones");
    }
    int[] bases = new int[count * VERSIONS];
    for (int i = 0; i < count; i++) {
      int slot = free[--freeCount];
      for (int version = 0; version < VERSIONS; version++) {
        bases[i * VERSIONS + version] = (slot * VERSIONS + version) * elements;
      }
    }
    return bases;
  }

  /** Takes back what {@link #lend} lent. The old values are wiped: no run sees another's. */
  void takeBack(int[] bases) {
    for (int i = 0; i < bases.length; i += VERSIONS) {
      Arrays.fill(values, bases[i], bases[i] + VERSIONS * elements, 0);
      free[freeCount++] = bases[i] / (VERSIONS * elements);
    }
  }

  int freeCount() {
    return freeCount;
  }

  int[] values() {
    return values;
  }
}
