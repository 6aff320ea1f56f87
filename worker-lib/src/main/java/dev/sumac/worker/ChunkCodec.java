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
