package dev.sumac.cli;

import dev.sumac.worker.Communicator;

/**
 * Checks a reduced tensor against the sum computed apart, in double precision, within the stated
 * error bound.
 */
final class SumCheck {
  private final int worldSize;
  private final int elementsPerPacket;
  private final double[] sums;
  private long wrong;
  private double worstShareOfBound;
  private String firstWrong = "";

  SumCheck(int worldSize, int elementsPerPacket) {
    this.worldSize = worldSize;
    this.elementsPerPacket = elementsPerPacket;
    this.sums = new double[elementsPerPacket];
  }

  /** Checks every element of a tensor that was filled with {@link Gradients} at each rank. */
  void check(float[] result, long seed, int step, int tensor) {
    long[] keys = new long[worldSize];
    for (int rank = 0; rank < worldSize; rank++) {
      keys[rank] = Gradients.key(seed, step, tensor, rank);
    }
    float scale = Gradients.scale(seed, tensor);
    for (int from = 0; from < result.length; from += elementsPerPacket) {
      int count = Math.min(elementsPerPacket, result.length - from);
      float largest = sum(keys, from, count, scale);
      double bound = Communicator.sumErrorBound(worldSize, largest);
      for (int i = 0; i < count; i++) {
        compare(result[from + i], sums[i], bound, tensor, from + i);
      }
    }
  }

  long wrong() {
    return wrong;
  }

  /** The largest error seen, as a share of what is allowed. */
  double worstShareOfBound() {
    return worstShareOfBound;
  }

  String firstWrong() {
    return firstWrong;
  }

  /** Sums one packet's elements over the ranks; returns the largest magnitude. */
  private float sum(long[] keys, int from, int count, float scale) {
    float largest = 0;
    for (int i = 0; i < count; i++) {
      double sum = 0;
      for (long key : keys) {
        float value = Gradients.value(key, from + i, scale);
        largest = Math.max(largest, Math.abs(value));
        sum += value;
      }
      sums[i] = sum;
    }
    return largest;
  }

  private void compare(float result, double expected, double bound, int tensor, int index) {
    double allowed = bound + Math.ulp(result) / 2.0;
    double error = Math.abs(result - expected);
    // Written so that a NaN is wrong.
    if (!(error <= allowed)) {
      if (wrong++ == 0) {
        firstWrong =
            "tensor " + tensor + " element " + index + " is " + result + ", should be " + expected;
      }
    } else {
      worstShareOfBound = Math.max(worstShareOfBound, error / allowed);
    }
  }
}
