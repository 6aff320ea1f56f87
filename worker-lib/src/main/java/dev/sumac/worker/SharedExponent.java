package dev.sumac.worker;

/**
 * What the ranks agree on before a chunk of floats is summed: the exponent {@code e} such that
 * every finite value's magnitude is less than {@code 2^e}, and whether any rank has a NaN or an
 * infinity. Packed into an int, so that arrays of them are flat.
 */
final class SharedExponent {
  /** Not known yet. */
  static final int UNKNOWN = Integer.MIN_VALUE;

  private static final int NON_FINITE_BIT = 1 << 16;

  private SharedExponent() {}

  static int of(int exponent, boolean nonFinite) {
    return (exponent & 0xFFFF) | (nonFinite ? NON_FINITE_BIT : 0);
  }

  static int exponent(int packed) {
    return (short) packed;
  }

  static boolean isNonFinite(int packed) {
    return (packed & NON_FINITE_BIT) != 0;
  }
}
