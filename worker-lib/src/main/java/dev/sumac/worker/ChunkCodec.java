package dev.sumac.worker;

import dev.sumac.protocol.ElementType;
import dev.sumac.protocol.OperationKind;

/**
 * Turns the elements of one operation into 32-bit words that the switch can reduce, and the reduced
 * words back. One a running operation, used on the engine's thread only.
 *
 * <p>Some codecs need to know, before they can encode a chunk, the greatest exponent that any rank
 * has in it. It is asked of the switch one window ahead, in the exponent field of other packets.
 */
abstract class ChunkCodec {
  private final ElementType type;
  private final OperationKind kind;

  ChunkCodec(ElementType type, OperationKind kind) {
    this.type = type;
    this.kind = kind;
  }

  /**
   * The codec of a reduction of floats.
   *
   * @throws IllegalArgumentException when the operands don't fit together
   */
  static ChunkCodec floats(
      Operand<float[]> input, Operand<float[]> output, OperationKind kind, int worldSize) {
    Operand.requireCompatible(input, output);
    return kind == OperationKind.SUM
        ? new FixedPointCodec(input, output, worldSize)
        : new OrderedFloatCodec(kind, input, output);
  }

  /**
   * The codec of a reduction of integers.
   *
   * @throws IllegalArgumentException when the operands don't fit together
   */
  static ChunkCodec ints(Operand<int[]> input, Operand<int[]> output, OperationKind kind) {
    Operand.requireCompatible(input, output);
    return new Int32Codec(kind, input, output);
  }

  final ElementType type() {
    return type;
  }

  final OperationKind kind() {
    return kind;
  }

  /** Number of elements of the operation. */
  abstract int length();

  /** Whether {@link #encode} and {@link #decode} need the ranks' common exponent. */
  abstract boolean needsExponent();

  /** This rank's exponent of a chunk; see {@link SharedExponent}. */
  abstract int exponent(int at, int count);

  /** Writes the words of elements {@code at} to {@code at + count - 1}. */
  abstract void encode(int at, int count, int sharedExponent, int[] words);

  /** Writes the reduced elements to the output. */
  abstract void decode(int[] words, int at, int count, int sharedExponent);
}
