package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class ElementsTest {
  private static final byte[] WIRE =
      HexFormat.of().parseHex("ee 04030201 ffffffff 00000080 ee".replace(" ", ""));
  private static final int[] VALUES = {0x01020304, -1, Integer.MIN_VALUE};

  @Test
  void elementsAreReadLittleEndianIntoTheMiddleOfAnArray() {
    int[] fromHeap = {7, 0, 0, 0, 7};
    Elements.read(new UnsafeBuffer(WIRE), 1, fromHeap, 1, 3);
    assertArrayEquals(new int[] {7, 0x01020304, -1, Integer.MIN_VALUE, 7}, fromHeap);

    int[] fromDirect = {7, 0, 0, 0, 7};
    Elements.read(direct(WIRE), 1, fromDirect, 1, 3);
    assertArrayEquals(new int[] {7, 0x01020304, -1, Integer.MIN_VALUE, 7}, fromDirect);
  }

  @Test
  void elementsAreWrittenLittleEndianAndNothingBesideThem() {
    byte[] blank = new byte[14];
    blank[0] = (byte) 0xEE;
    blank[13] = (byte) 0xEE;
    UnsafeBuffer direct = direct(blank);
    Elements.write(new int[] {9, VALUES[0], VALUES[1], VALUES[2], 9}, 1, direct, 1, 3);
    byte[] written = new byte[14];
    direct.getBytes(0, written);
    assertArrayEquals(WIRE, written);

    Elements.write(VALUES, 0, new UnsafeBuffer(blank), 1, 3);
    assertArrayEquals(WIRE, blank);
  }

  @Test
  void elementsBehindTheOffsetOfASliceAreFound() {
    int[] values = new int[1];
    Elements.read(new UnsafeBuffer(WIRE, 4, 10), 1, values, 0, 1);
    assertArrayEquals(new int[] {-1}, values);
  }

  @Test
  void noElementsAreCopiedAtTheVeryEnd() {
    int[] values = {5};
    Elements.read(new UnsafeBuffer(WIRE), 14, values, 1, 0);
    Elements.write(values, 1, new UnsafeBuffer(WIRE.clone()), 14, 0);
    assertArrayEquals(new int[] {5}, values);
  }

  @Test
  void readingPastThePacketOrTheArrayIsRefused() {
    UnsafeBuffer packet = new UnsafeBuffer(new byte[12]);
    int[] four = new int[4];
    assertRefused(() -> Elements.read(packet, 0, four, 0, 4));
    assertRefused(() -> Elements.read(packet, 1, four, 0, 3));
    assertRefused(() -> Elements.read(packet, -1, four, 0, 1));
    assertRefused(() -> Elements.read(packet, 0, four, 2, 3));
    assertRefused(() -> Elements.read(packet, 0, four, -1, 1));
    assertRefused(() -> Elements.read(packet, 0, four, 0, -1));
    assertRefused(() -> Elements.read(packet, 0, four, 0, 1 << 30));
  }

  @Test
  void writingPastThePacketOrTheArrayIsRefused() {
    UnsafeBuffer packet = new UnsafeBuffer(new byte[12]);
    int[] four = new int[4];
    assertRefused(() -> Elements.write(four, 0, packet, 0, 4));
    assertRefused(() -> Elements.write(four, 0, packet, 1, 3));
    assertRefused(() -> Elements.write(four, 0, packet, -1, 1));
    assertRefused(() -> Elements.write(four, 2, packet, 0, 3));
    assertRefused(() -> Elements.write(four, -1, packet, 0, 1));
    assertRefused(() -> Elements.write(four, 0, packet, 0, -1));
    assertRefused(() -> Elements.write(four, 0, packet, 0, 1 << 30));
  }

  private static UnsafeBuffer direct(byte[] bytes) {
    return new UnsafeBuffer(ByteBuffer.allocateDirect(bytes.length).put(0, bytes));
  }

  private static void assertRefused(Runnable copy) {
    assertThrows(IndexOutOfBoundsException.class, copy::run);
  }
}
