package dev.sumac.dataplane;

import dev.sumac.protocol.OperationKind;

/**
 * The switch's arithmetic. Plain loops over arrays: the JIT compiler turns each into vector
 * instructions.
 */
final class Reducer {
  private Reducer() {}

  /** {@code sums[at + i] = sums[at + i] op values[i]} for each of {@code count} elements. */
  static void reduce(OperationKind kind, int[] sums, int at, int[] values, int count) {
    switch (kind) {
      case SUM -> sum(sums, at, values, count);
      case MIN -> min(sums, at, values, count);
      case MAX -> max(sums, at, values, count);
    }
  }

  private static void sum(int[] sums, int at, int[] values, int count) {
    for (int i = 0; i < count; i++) {
      sums[at + i] += values[i];
    }
  }

  private static void min(int[] sums, int at, int[] values, int count) {
    for (int i = 0; i < count; i++) {
      sums[at + i] = Math.min(sums[at + i], values[i]);
    }
  }

  private static void max(int[] sums, int at, int[] values, int count) {
    for (int i = 0; i < count; i++) {
      sums[at + i] = Math.max(sums[at + i], values[i]);
    }
  }
}
