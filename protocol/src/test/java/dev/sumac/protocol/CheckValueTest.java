package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class CheckValueTest {
  private static final long SEED = 20_260_301;

  private final CheckValue checkValue = new CheckValue();

  @Test
  void thirtyTwoZeroBytesHaveTheValueOfTheRfc() {
    assertBoth(0x8A9136AA, new byte[32]);
  }

  @Test
  void thirtyTwoBytesOfOnesHaveTheValueOfTheRfc() {
    byte[] ones = new byte[32];
    Arrays.fill(ones, (byte) 0xFF);
    assertBoth(0x62A8AB43, ones);
  }

  @Test
  void thirtyTwoAscendingBytesHaveTheValueOfTheRfc() {
    byte[] ascending = new byte[32];
    for (int i = 0; i < 32; i++) {
      ascending[i] = (byte) i;
    }
    assertBoth(0x46DD794E, ascending);
  }

  @Test
  void noBytesHaveTheValueZero() {
    assertEquals(0, checkValue.of(new UnsafeBuffer(new byte[8]), 4, 0));
  }

  @Test
  void everyPartOfEveryKindOfBufferHasTheValueOfItsBytes() {
    byte[] bytes = new byte[64];
    new Random(SEED).nextBytes(bytes);
    ByteBuffer direct = ByteBuffer.allocateDirect(64).put(0, bytes);
    UnsafeBuffer[] wrapped = {
      new UnsafeBuffer(bytes),
      new UnsafeBuffer(bytes, 8, 48),
      new UnsafeBuffer(ByteBuffer.wrap(bytes)),
      new UnsafeBuffer(ByteBuffer.wrap(bytes), 8, 48),
      new UnsafeBuffer(ByteBuffer.wrap(bytes).slice(8, 48)),
      new UnsafeBuffer(ByteBuffer.wrap(bytes).slice(4, 60), 4, 48),
      new UnsafeBuffer(direct),
      new UnsafeBuffer(direct, 8, 48),
      new UnsafeBuffer(direct.slice(8, 48)),
      new UnsafeBuffer(direct.slice(4, 60), 4, 48),
    };
    for (int i = 0; i < wrapped.length; i++) {
      int skipped = wrapped[i].capacity() == 64 ? 0 : 8;
      assertEquals(
          BitwiseCrc32c.of(bytes, skipped + 3, 20),
          checkValue.of(wrapped[i], 3, 20),
          "buffer " + i + ", seed " + SEED);
    }
  }

  @Test
  void aShortPartDoesNotLimitTheNextOneOfTheSameDirectBuffer() {
    UnsafeBuffer buffer = new UnsafeBuffer(ByteBuffer.allocateDirect(32));
    assertEquals(BitwiseCrc32c.of(new byte[4]), checkValue.of(buffer, 28, 4));
    assertEquals(BitwiseCrc32c.of(new byte[1]), checkValue.of(buffer, 0, 1));
    assertEquals(0x8A9136AA, checkValue.of(buffer, 0, 32));
  }

  private void assertBoth(int expected, byte[] bytes) {
    assertEquals(expected, BitwiseCrc32c.of(bytes));
    assertEquals(expected, checkValue.of(new UnsafeBuffer(bytes), 0, bytes.length));
    UnsafeBuffer direct = new UnsafeBuffer(ByteBuffer.allocateDirect(bytes.length));
    direct.putBytes(0, bytes);
    assertEquals(expected, checkValue.of(direct, 0, bytes.length));
  }
}
