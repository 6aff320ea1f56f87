package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

final class SipHashTest {
  /** The authors' reference vectors: key 00 01 ... 0f, message 00 01 ... of this many bytes. */
  private static final long[] REFERENCE = {
    0x726fdb47dd0e0e31L,
    0x74f839c593dc67fdL,
    0x0d6c8009d9a94f5aL,
    0x85676696d7fb7e2dL,
    0xcf2794e0277187b7L,
    0x18765564cd99a68dL,
    0xcbc9466e58fee3ceL,
    0xab0200f58b01d137L,
    0x93f5f5799a932462L,
    0x9e0082df0ba9e4b0L,
    0x7a5dbbc594ddb9f3L
  };

  private final SipHash hash = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);

  @Test
  void theExampleOfThePapersAppendixAHasItsValue() {
    assertEquals(0xa129ca6149be45e5L, hash.of(new UnsafeBuffer(ascending(15)), 0, 15));
  }

  @Test
  void theAuthorsReferenceVectorsHaveTheirValues() {
    for (int length = 0; length < REFERENCE.length; length++) {
      assertEquals(
          REFERENCE[length],
          hash.of(new UnsafeBuffer(ascending(length)), 0, length),
          "length " + length);
    }
  }

  /** The value comes from an implementation apart, in Python. */
  @Test
  void aMessageOfAPacketsLengthHasTheSameValueAnywhereInAnyBuffer() {
    byte[] message = new byte[1_456];
    for (int i = 0; i < message.length; i++) {
      message[i] = (byte) (i * 7);
    }
    byte[] inside = new byte[2_000];
    Arrays.fill(inside, (byte) 0xEE);
    System.arraycopy(message, 0, inside, 13, message.length);
    ByteBuffer direct = ByteBuffer.allocateDirect(2_000).put(0, inside);
    long expected = 0x783e4ae4ff2faa74L;
    assertEquals(expected, hash.of(new UnsafeBuffer(message), 0, message.length));
    assertEquals(expected, hash.of(new UnsafeBuffer(inside), 13, message.length));
    assertEquals(expected, hash.of(new UnsafeBuffer(direct, 8, 1_900), 5, message.length));
  }

  private static byte[] ascending(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) i;
    }
    return bytes;
  }
}
