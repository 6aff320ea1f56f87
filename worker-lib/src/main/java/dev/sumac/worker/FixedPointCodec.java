package dev.sumac.worker;

import dev.sumac.protocol.ElementType;
import dev.sumac.protocol.OperationKind;

/**
 * float32 sums as fixed point with a shared exponent (SwitchML's scheme, NSDI'21, section 3.7):
 * every rank scales a chunk by the same power of two, rounds to int32, and scales the integer sum
 * back. Independent of the order of arrival.
 *
 * <p>With {@code n} ranks, {@code L = ceil(log2 n)} and every magnitude below {@code 2^e}, the
 * factor is {@code 2^(30 - L - e)}: the sum of n values stays within 30 bits, so nothing can
 * overflow. The error of a sum is at most
 *
 * <pre>
 *   n / 2 x 2^(e + L - 30)   plus half a unit in the last place of the result
 * </pre>
 *
 * <p>A power of two (the paper's code uses {@code (2^31 - 1) / (n 2^e)}) costs at most two bits and
 * makes scaling itself exact in both directions.
 *
 * <p>NaN and infinities: an element is NaN if any rank's is NaN or if both infinities occur, else
 * infinite if any rank's is, as IEEE 754 addition has it. Where a chunk has one on any rank, its
 * words hold two counters beside the value (see {@link #encodeWithCounters}), and its finite sums
 * have fewer bits.
 */
final class FixedPointCodec extends ChunkCodec {
  private static final int INFINITY_BITS = 0x7F80_0000;
  private static final int MAGNITUDE_MASK = 0x7FFF_FFFF;
  private static final int VALUE_BITS = 30;

  private final Operand<float[]> input;
  private final Operand<float[]> output;
  private final int ranks;
  private final int log2Ranks;
  private final int counterBits;
  private final int lowBits;
  private final int bias;

  FixedPointCodec(Operand<float[]> input, Operand<float[]> output, int ranks) {
    super(ElementType.FLOAT32, OperationKind.SUM);
    this.input = input;
    this.output = output;
    this.ranks = ranks;
    this.log2Ranks = Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
    this.counterBits = Integer.SIZE - Integer.numberOfLeadingZeros(ranks);
    this.lowBits = Integer.SIZE - 2 * counterBits;
    this.bias = lowValueBits() >= 0 ? 1 << lowValueBits() : 0;
  }

  /** Largest error of one element of a sum, apart from the rounding of the result to float32. */
  static double errorBound(int ranks, int exponent) {
    int log2Ranks = Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
    return ranks * 0.5 * Math.scalb(1.0, exponent + log2Ranks - VALUE_BITS);
  }

  @Override
  int length() {
    return input.length();
  }

  @Override
  boolean needsExponent() {
    return true;
  }

  @Override
  int exponent(int at, int count) {
    float[] values = input.load(at, count);
    int offset = input.offset(at);
    int largest = largestMagnitude(values, offset, count);
    if (largest < INFINITY_BITS) {
      return SharedExponent.of(exponentOf(largest), false);
    }
    int largestFinite = 0;
    for (int i = 0; i < count; i++) {
      int magnitude = Float.floatToRawIntBits(values[offset + i]) & MAGNITUDE_MASK;
      if (magnitude < INFINITY_BITS) {
        largestFinite = Math.max(largestFinite, magnitude);
      }
    }
    return SharedExponent.of(exponentOf(largestFinite), true);
  }

  /**
   * The least e such that every float with these magnitude bits or less is below 2^e: -126 to 128.
   */
  static int exponentOf(int magnitudeBits) {
    return (magnitudeBits >>> 23) - 126;
  }

  @Override
  void encode(int at, int count, int sharedExponent, int[] words) {
    float[] values = input.load(at, count);
    int offset = input.offset(at);
    int exponent = SharedExponent.exponent(sharedExponent);
    if (SharedExponent.isNonFinite(sharedExponent)) {
      encodeWithCounters(values, offset, count, exponent, words);
    } else {
      quantise(values, offset, count, Math.scalb(1.0, VALUE_BITS - log2Ranks - exponent), words);
    }
  }

  @Override
  void decode(int[] words, int at, int count, int sharedExponent) {
    float[] values = output.target(count);
    int offset = output.offset(at);
    int exponent = SharedExponent.exponent(sharedExponent);
    if (SharedExponent.isNonFinite(sharedExponent)) {
      decodeWithCounters(words, values, offset, count, exponent);
    } else {
      scaleBack(words, values, offset, count, Math.scalb(1.0, exponent + log2Ranks - VALUE_BITS));
    }
    output.stored(at, count);
  }

  private static void quantise(float[] values, int offset, int count, double scale, int[] words) {
    for (int i = 0; i < count; i++) {
      words[i] = (int) Math.rint(values[offset + i] * scale);
    }
  }

  private static void scaleBack(int[] words, float[] values, int offset, int count, double scale) {
    for (int i = 0; i < count; i++) {
      values[offset + i] = (float) (words[i] * scale);
    }
  }

  /**
   * Four independent maxima: a single one would wait for itself (300 against 100 ns for 352
   * values).
   */
  private static int largestMagnitude(float[] values, int offset, int count) {
    int a = 0;
    int b = 0;
    int c = 0;
    int d = 0;
    int end = offset + count;
    int i = offset;
    for (; i + 3 < end; i += 4) {
      a = Math.max(a, Float.floatToRawIntBits(values[i]) & MAGNITUDE_MASK);
      b = Math.max(b, Float.floatToRawIntBits(values[i + 1]) & MAGNITUDE_MASK);
      c = Math.max(c, Float.floatToRawIntBits(values[i + 2]) & MAGNITUDE_MASK);
      d = Math.max(d, Float.floatToRawIntBits(values[i + 3]) & MAGNITUDE_MASK);
    }
    for (; i < end; i++) {
      a = Math.max(a, Float.floatToRawIntBits(values[i]) & MAGNITUDE_MASK);
    }
    return Math.max(Math.max(a, b), Math.max(c, d));
  }

  /**
   * Bits of a finite value beside the counters: the sum of n biased values must stay below
   * 2^lowBits.
   */
  private int lowValueBits() {
    return lowBits - 2 - log2Ranks;
  }

  /**
   * Words of a chunk with a NaN or an infinity somewhere, high bits first:
   *
   * <pre>
   *   ranks with -infinity or NaN | ranks with +infinity or NaN | finite value + bias
   * </pre>
   *
   * <p>Each counter has room for n; the bias makes every value positive, so that no field carries
   * into the next.
   */
  private void encodeWithCounters(
      float[] values, int offset, int count, int exponent, int[] words) {
    double scale = Math.scalb(1.0, lowValueBits() - exponent);
    int plus = 1 << lowBits;
    int minus = 1 << (lowBits + counterBits);
    for (int i = 0; i < count; i++) {
      float value = values[offset + i];
      if (Float.isNaN(value)) {
        words[i] = bias + plus + minus;
      } else if (value == Float.POSITIVE_INFINITY) {
        words[i] = bias + plus;
      } else if (value == Float.NEGATIVE_INFINITY) {
        words[i] = bias + minus;
      } else {
        words[i] = bias + (int) Math.rint(value * scale);
      }
    }
  }

  private void decodeWithCounters(
      int[] words, float[] values, int offset, int count, int exponent) {
    double scale = Math.scalb(1.0, exponent - lowValueBits());
    int lowMask = (1 << lowBits) - 1;
    int counterMask = (1 << counterBits) - 1;
    for (int i = 0; i < count; i++) {
      boolean plus = (words[i] >>> lowBits & counterMask) != 0;
      boolean minus = words[i] >>> (lowBits + counterBits) != 0;
      float value;
      if (plus) {
        value = minus ? Float.NaN : Float.POSITIVE_INFINITY;
      } else if (minus) {
        value = Float.NEGATIVE_INFINITY;
      } else {
        value = (float) (((words[i] & lowMask) - ranks * bias) * scale);
      }
      values[offset + i] = value;
    }
  }
}
