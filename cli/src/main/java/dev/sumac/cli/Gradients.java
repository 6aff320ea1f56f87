package dev.sumac.cli;

/**
 * Pseudo-random values with the spread of gradients: symmetric about zero, heavy-tailed (each power
 * of two below the scale is half as likely to be missed), with a scale of its own for each tensor
 * between 1e-5 and 1e-1. Any element can be computed from its indices alone, so a checker needs no
 * copy of the input. Stateless.
 */
final class Gradients {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private Gradients() {}

  /** Key of one rank's tensor in one step; see {@link #value}. */
  static long key(long seed, int step, int tensor, int rank) {
    return mix(mix(seed + GOLDEN * step) + GOLDEN * tensor) + mix(GOLDEN * (rank + 1));
  }

  /** Scale of a tensor, the same at all ranks. */
  static float scale(long seed, int tensor) {
    double uniform = (mix(seed ^ GOLDEN * (tensor + 1)) >>> 11) * 0x1p-53;
    return (float) Math.pow(10, -5 + 4 * uniform);
  }

  /** Element {@code index}. */
  static float value(long key, int index, float scale) {
    long bits = mix(key + GOLDEN * index);
    float uniform = (bits >> 40) * 0x1p-23f;
    // One bit in two makes the value half as large: magnitudes spread over many powers of two.
    int halvings = Long.numberOfTrailingZeros(bits | (1L << 30));
    return uniform * scale * Float.intBitsToFloat((127 - halvings) << 23);
  }

  static void fill(float[] values, long key, float scale) {
    for (int i = 0; i < values.length; i++) {
      values[i] = value(key, i, scale);
    }
  }

  /** Stafford's 13th variant of the finaliser of MurmurHash3. */
  private static long mix(long z) {
    long a = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    long b = (a ^ a >>> 27) * 0x94D049BB133111EBL;
    return b ^ b >>> 31;
  }
}
