package dev.sumac.protocol;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import org.agrona.DirectBuffer;

/**
 * SipHash-2-4, a keyed hash of 64 bits made for short messages (Aumasson and Bernstein, "SipHash: a
 * fast short-input PRF", 2012). One instance is one key. Immutable, thread-safe, allocates nothing.
 */
public final class SipHash {
  /** Bytes of a hash. */
  public static final int BYTES = Long.BYTES;

  private static final int FINAL_ROUNDS = 4;

  private final long k0;
  private final long k1;

  /**
   * @param k0 first 8 bytes of the key, little endian
   * @param k1 the other 8
   */
  public SipHash(long k0, long k1) {
    this.k0 = k0;
    this.k1 = k1;
  }

  /** The hash of {@code length} bytes from {@code offset}. */
  public long of(DirectBuffer buffer, int offset, int length) {
    long v0 = k0 ^ 0x736f6d6570736575L;
    long v1 = k1 ^ 0x646f72616e646f6dL;
    long v2 = k0 ^ 0x6c7967656e657261L;
    long v3 = k1 ^ 0x7465646279746573L;
    int words = length >>> 3;
    int rounds = 2;
    // The words of the message, then one with what is left and the length, then the final rounds.
    for (int i = 0; i <= words + 1; i++) {
      long word = 0;
      if (i < words) {
        word = buffer.getLong(offset + (i << 3), LITTLE_ENDIAN);
      } else if (i == words) {
        word = lastWord(buffer, offset + (words << 3), length);
      } else {
        v2 ^= 0xFF;
        rounds = FINAL_ROUNDS;
      }
      v3 ^= word;
      for (int r = 0; r < rounds; r++) {
        v0 += v1;
        v1 = Long.rotateLeft(v1, 13) ^ v0;
        v0 = Long.rotateLeft(v0, 32);
        v2 += v3;
        v3 = Long.rotateLeft(v3, 16) ^ v2;
        v0 += v3;
        v3 = Long.rotateLeft(v3, 21) ^ v0;
        v2 += v1;
        v1 = Long.rotateLeft(v1, 17) ^ v2;
        v2 = Long.rotateLeft(v2, 32);
      }
      v0 ^= word;
    }
    return v0 ^ v1 ^ v2 ^ v3;
  }

  private static long lastWord(DirectBuffer buffer, int from, int length) {
    long word = (long) length << 56;
    for (int i = 0; i < (length & 7); i++) {
      word |= (buffer.getByte(from + i) & 0xFFL) << (8 * i);
    }
    return word;
  }

  /** Says nothing of the key. */
  @Override
  public String toString() {
    return "SipHash-2-4";
  }
}
