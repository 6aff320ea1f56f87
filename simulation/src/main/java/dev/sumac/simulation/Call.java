package dev.sumac.simulation;

import dev.sumac.protocol.OperationKind;
import java.util.Locale;

/**
 * One collective operation that every rank calls, with values that say whose they are: a sum that
 * lacks, repeats or mixes up a contribution is never right by chance. Immutable.
 *
 * @param isFloat float32, else int32
 * @param kind how elements are reduced
 * @param length number of elements
 */
record Call(boolean isFloat, OperationKind kind, int length) {
  /** This rank's values in that run. */
  int[] ints(int run, int index, int rank) {
    int[] values = new int[length];
    for (int i = 0; i < length; i++) {
      values[i] = mix(run, index, rank, i);
    }
    return values;
  }

  /** This rank's values in that run: whole numbers, of which fixed point loses nothing. */
  float[] floats(int run, int index, int rank) {
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = mix(run, index, rank, i) >> 16;
    }
    return values;
  }

  /** First element that is not the reduction over all ranks, in words, or null. */
  String firstWrong(int[] result, int run, int index, int ranks) {
    for (int i = 0; i < length; i++) {
      int expected = mix(run, index, 0, i);
      for (int rank = 1; rank < ranks; rank++) {
        expected = reduce(expected, mix(run, index, rank, i));
      }
      if (result[i] != expected) {
        return wrong(i, result[i], expected);
      }
    }
    return null;
  }

  /** As {@link #firstWrong(int[], int, int, int)}. */
  String firstWrong(float[] result, int run, int index, int ranks) {
    for (int i = 0; i < length; i++) {
      int expected = mix(run, index, 0, i) >> 16;
      for (int rank = 1; rank < ranks; rank++) {
        expected = reduce(expected, mix(run, index, rank, i) >> 16);
      }
      if (result[i] != expected) {
        return wrong(i, result[i], expected);
      }
    }
    return null;
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT, "allReduce %s of %d x %s", kind, length, isFloat ? "float32" : "int32");
  }

  private int reduce(int a, int b) {
    return switch (kind) {
      case SUM -> a + b;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
    };
  }

  private static String wrong(int element, Object got, Object expected) {
    return "WRONG: element " + element + " is " + got + ", right is " + expected;
  }

  private static int mix(int run, int index, int rank, int element) {
    long z = ((long) run << 32) ^ (index * 0x1F123BB5L) ^ (rank * 0x9E3779B97F4A7C15L) ^ element;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return (int) (z ^ (z >>> 31));
  }
}
