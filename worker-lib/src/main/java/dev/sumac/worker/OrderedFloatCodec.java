package dev.sumac.worker;

import dev.sumac.protocol.ElementType;
import dev.sumac.protocol.OperationKind;

/**
 * float32 for MIN and MAX: each value travels as the int32 that has the same place in order, so the
 * switch's integer comparison is exact. -0.0 is less than +0.0, as in {@link Math#min}; a NaN on
 * any rank gives NaN.
 */
final class OrderedFloatCodec extends ChunkCodec {
  private final Operand<float[]> input;
  private final Operand<float[]> output;
  private final int nan;

  OrderedFloatCodec(OperationKind kind, Operand<float[]> input, Operand<float[]> output) {
    super(ElementType.FLOAT32, kind);
    this.input = input;
    this.output = output;
    // The word that wins against every other; both map back to a NaN.
    this.nan = kind == OperationKind.MAX ? Integer.MAX_VALUE : Integer.MIN_VALUE;
  }

  @Override
  int length() {
    return input.length();
  }

  @Override
  boolean needsExponent() {
    return false;
  }

  @Override
  int exponent(int at, int count) {
    return 0;
  }

  @Override
  void encode(int at, int count, int sharedExponent, int[] words) {
    float[] values = input.load(at, count);
    int offset = input.offset(at);
    for (int i = 0; i < count; i++) {
      float value = values[offset + i];
      words[i] = Float.isNaN(value) ? nan : swapNegatives(Float.floatToRawIntBits(value));
    }
  }

  @Override
  void decode(int[] words, int at, int count, int sharedExponent) {
    float[] values = output.target(count);
    int offset = output.offset(at);
    for (int i = 0; i < count; i++) {
      values[offset + i] =
          words[i] == nan ? Float.NaN : Float.intBitsToFloat(swapNegatives(words[i]));
    }
    output.stored(at, count);
  }

  /** Sign and magnitude to two's complement and back: turns the order of negative numbers round. */
  private static int swapNegatives(int bits) {
    return bits ^ (bits >> 31 & 0x7FFF_FFFF);
  }
}
