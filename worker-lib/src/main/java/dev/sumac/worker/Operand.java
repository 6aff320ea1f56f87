package dev.sumac.worker;

import java.nio.Buffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * One side of an operation, input or output, as arrays that loops can vectorise over. An
 * array-backed operand lends its own array; a direct or read-only buffer is copied through a
 * scratch array, chunk by chunk. Not thread-safe.
 *
 * @param <A> {@code float[]} or {@code int[]}
 */
abstract class Operand<A> {
  private final int length;

  Operand(int length) {
    this.length = length;
  }

  /** Number of elements. */
  final int length() {
    return length;
  }

  /** The array that holds elements {@code at} to {@code at + count - 1}, from {@link #offset}. */
  abstract A load(int at, int count);

  /**
   * The array to write elements {@code at} to {@code at + count - 1} to, from {@link #offset}; then
   * {@link #stored}.
   */
  abstract A target(int count);

  /** Where element {@code at} is in the array of {@link #load} or {@link #target}. */
  abstract int offset(int at);

  /** The elements have been written to the target. */
  abstract void stored(int at, int count);

  /**
   * Identity of the memory and first element, to find overlaps: operands can only overlap when
   * their {@code memory} is the same object.
   */
  abstract Object memory();

  /** First element of this operand within {@link #memory}, in elements. */
  abstract long memoryOffset();

  static Operand<float[]> of(float[] array) {
    return new Lent<>(array, 0, array.length);
  }

  static Operand<int[]> of(int[] array) {
    return new Lent<>(array, 0, array.length);
  }

  /** The elements between position and limit, which stay as they are. */
  static Operand<float[]> of(FloatBuffer buffer) {
    if (buffer.hasArray()) {
      return new Lent<>(
          buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining());
    }
    return new CopiedFloats(buffer);
  }

  /** The elements between position and limit, which stay as they are. */
  static Operand<int[]> of(IntBuffer buffer) {
    if (buffer.hasArray()) {
      return new Lent<>(
          buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining());
    }
    return new CopiedInts(buffer);
  }

  /**
   * Refuses what can't be reduced safely: other lengths, and memory that overlaps without being the
   * same.
   *
   * @throws IllegalArgumentException with one line that says what
   */
  static void requireCompatible(Operand<?> input, Operand<?> output) {
    if (input.length() != output.length()) {
      throw new IllegalArgumentException(
          "input has " + input.length() + " elements, output " + output.length());
    }
    long apart = Math.abs(input.memoryOffset() - output.memoryOffset());
    if (input.memory().equals(output.memory()) && apart != 0 && apart < input.length()) {
      throw new IllegalArgumentException(
          "input and output overlap by "
              + (input.length() - apart)
              + " elements: they must be the same memory or apart");
    }
  }

  /** Refuses an output that can't be written. */
  static void requireWritable(Buffer output) {
    if (output.isReadOnly()) {
      throw new IllegalArgumentException("the output buffer is read-only");
    }
  }

  /** Lends the caller's array. */
  private static final class Lent<A> extends Operand<A> {
    private final A array;
    private final int first;

    Lent(A array, int first, int length) {
      super(length);
      this.array = array;
      this.first = first;
    }

    @Override
    A load(int at, int count) {
      return array;
    }

    @Override
    A target(int count) {
      return array;
    }

    @Override
    int offset(int at) {
      return first + at;
    }

    @Override
    void stored(int at, int count) {}

    @Override
    Object memory() {
      return new Identity(array);
    }

    @Override
    long memoryOffset() {
      return first;
    }
  }

  /** Equal only to itself: arrays are compared by identity. */
  private record Identity(Object of) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Identity identity && identity.of == of;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(of);
    }
  }

  /** Copies through a scratch array. */
  private abstract static class Copied<A> extends Operand<A> {
    private final Buffer buffer;

    Copied(Buffer buffer) {
      super(buffer.remaining());
      this.buffer = buffer;
    }

    @Override
    final int offset(int at) {
      return 0;
    }

    @Override
    final Object memory() {
      // All direct memory is one: buffers are told apart by address. A read-only heap buffer hides
      // its array.
      return buffer.isDirect() ? "direct memory" : new Identity(buffer);
    }

    @Override
    final long memoryOffset() {
      return buffer.isDirect()
          ? DirectAddress.of(buffer) / Integer.BYTES + buffer.position()
          : buffer.position();
    }
  }

  private static final class CopiedFloats extends Copied<float[]> {
    private final FloatBuffer buffer;
    private float[] scratch = new float[0];

    CopiedFloats(FloatBuffer buffer) {
      super(buffer);
      this.buffer = buffer.slice();
    }

    @Override
    float[] load(int at, int count) {
      ensure(count);
      buffer.get(at, scratch, 0, count);
      return scratch;
    }

    @Override
    float[] target(int count) {
      ensure(count);
      return scratch;
    }

    @Override
    void stored(int at, int count) {
      buffer.put(at, scratch, 0, count);
    }

    private void ensure(int count) {
      if (scratch.length < count) {
        scratch = new float[count];
      }
    }
  }

  private static final class CopiedInts extends Copied<int[]> {
    private final IntBuffer buffer;
    private int[] scratch = new int[0];

    CopiedInts(IntBuffer buffer) {
      super(buffer);
      this.buffer = buffer.slice();
    }

    @Override
    int[] load(int at, int count) {
      ensure(count);
      buffer.get(at, scratch, 0, count);
      return scratch;
    }

    @Override
    int[] target(int count) {
      ensure(count);
      return scratch;
    }

    @Override
    void stored(int at, int count) {
      buffer.put(at, scratch, 0, count);
    }

    private void ensure(int count) {
      if (scratch.length < count) {
        scratch = new int[count];
      }
    }
  }
}
