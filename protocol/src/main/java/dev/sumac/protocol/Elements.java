package dev.sumac.protocol;

import java.nio.ByteOrder;
import java.util.Objects;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.UnsafeApi;

/**
 * Copies 32-bit little-endian elements between a packet and an {@code int[]}, in one block: loops
 * over arrays vectorise, loops over buffers do not (measured: 33 against 16 GB/s), so arithmetic is
 * done on arrays.
 */
public final class Elements {
  private static final long ARRAY_INT_BASE_OFFSET = UnsafeApi.arrayBaseOffset(int[].class);
  private static final boolean BIG_ENDIAN_HOST = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

  private Elements() {}

  /** Copies {@code count} elements from a packet. */
  public static void read(DirectBuffer from, int offset, int[] to, int at, int count) {
    from.boundsCheck(offset, count * Integer.BYTES);
    Objects.checkFromIndexSize(at, count, to.length);
    UnsafeApi.copyMemory(
        from.byteArray(),
        from.addressOffset() + offset,
        to,
        ARRAY_INT_BASE_OFFSET + (long) at * Integer.BYTES,
        (long) count * Integer.BYTES);
    if (BIG_ENDIAN_HOST) {
      swap(to, at, count);
    }
  }

  /** Copies {@code count} elements into a packet. */
  public static void write(int[] from, int at, MutableDirectBuffer to, int offset, int count) {
    to.boundsCheck(offset, count * Integer.BYTES);
    Objects.checkFromIndexSize(at, count, from.length);
    if (BIG_ENDIAN_HOST) {
      for (int i = 0; i < count; i++) {
        to.putInt(offset + i * Integer.BYTES, from[at + i], ByteOrder.LITTLE_ENDIAN);
      }
      return;
    }
    UnsafeApi.copyMemory(
        from,
        ARRAY_INT_BASE_OFFSET + (long) at * Integer.BYTES,
        to.byteArray(),
        to.addressOffset() + offset,
        (long) count * Integer.BYTES);
  }

  private static void swap(int[] values, int at, int count) {
    for (int i = at; i < at + count; i++) {
      values[i] = Integer.reverseBytes(values[i]);
    }
  }
}
