package dev.sumac.worker;

import java.nio.Buffer;
import org.agrona.UnsafeApi;

/** Where a direct buffer's memory begins; only to find out whether two buffers overlap. */
final class DirectAddress {
  private static final long ADDRESS_FIELD_OFFSET =
      UnsafeApi.objectFieldOffset(Buffer.class, "address");

  private DirectAddress() {}

  static long of(Buffer buffer) {
    return UnsafeApi.getLong(buffer, ADDRESS_FIELD_OFFSET);
  }
}
