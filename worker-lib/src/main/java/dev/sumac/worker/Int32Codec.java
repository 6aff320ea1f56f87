package dev.sumac.worker;

import dev.sumac.protocol.ElementType;
import dev.sumac.protocol.OperationKind;

/** int32: the words are the elements. Sums wrap around. */
final class Int32Codec extends ChunkCodec {
  private final Operand<int[]> input;
  private final Operand<int[]> output;

  Int32Codec(OperationKind kind, Operand<int[]> input, Operand<int[]> output) {
    super(ElementType.INT32, kind);
    this.input = input;
    this.output = output;
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
    System.arraycopy(input.load(at, count), input.offset(at), words, 0, count);
  }

  @Override
  void decode(int[] words, int at, int count, int sharedExponent) {
    System.arraycopy(words, 0, output.target(count), output.offset(at), count);
    output.stored(at, count);
  }
}
