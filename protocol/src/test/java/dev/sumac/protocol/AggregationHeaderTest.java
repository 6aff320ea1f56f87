package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class AggregationHeaderTest {
  /** One contribution, byte by byte as the drawing of the format says, without its check value. */
  private static final String GOLDEN_HEX =
      "1234" // job
          + "5671" // communicator, collective
          + "0003" // source rank
          + "fffe" // destination rank: the switch
          + "534d" // "SM"
          + "01" // version
          + "01" // contribution
          + "01" // retransmission
          + "02" // float32
          + "03" // MAX
          + "01" // not finite
          + "f9ff" // exponent -7
          + "0200" // two elements
          + "04030201" // run
          + "88776655443322f1" // cookie
          + "0500000001000000" // chunk 2^32 + 5
          + "ddccbbaa" // operation
          + "40420f00" // 1,000,000 elements in the operation
          + "0000803f" // 1.0f
          + "000000c0"; // -2.0f

  private static final long TAG_WORD = 0x1234_5671_0003_FFFEL;
  private static final byte[] GOLDEN =
      withCheckValue(HexFormat.of().parseHex(GOLDEN_HEX + "00000000"));
  private static final int[] ELEMENTS = {0x3F800000, 0xC0000000};

  private final AggregationHeader header = new AggregationHeader();

  @Test
  void everyFieldBeginsWhereTheOneBeforeEnds() {
    assertEquals(0, AggregationHeader.TAG_OFFSET);
    assertEquals(8, AggregationHeader.MAGIC_OFFSET);
    assertEquals(10, AggregationHeader.VERSION_OFFSET);
    assertEquals(11, AggregationHeader.KIND_OFFSET);
    assertEquals(12, AggregationHeader.FLAGS_OFFSET);
    assertEquals(13, AggregationHeader.ELEMENT_TYPE_OFFSET);
    assertEquals(14, AggregationHeader.OPERATION_KIND_OFFSET);
    assertEquals(15, AggregationHeader.NON_FINITE_OFFSET);
    assertEquals(16, AggregationHeader.EXPONENT_OFFSET);
    assertEquals(18, AggregationHeader.ELEMENT_COUNT_OFFSET);
    assertEquals(20, AggregationHeader.RUN_OFFSET);
    assertEquals(24, AggregationHeader.COOKIE_OFFSET);
    assertEquals(32, AggregationHeader.CHUNK_OFFSET);
    assertEquals(40, AggregationHeader.OPERATION_OFFSET);
    assertEquals(44, AggregationHeader.OPERATION_ELEMENTS_OFFSET);
    assertEquals(48, AggregationHeader.HEADER_BYTES);
    assertEquals(52, AggregationHeader.OVERHEAD_BYTES);
  }

  @Test
  void theLargestPacketFitsOneDatagramAndOneElementMoreDoesNot() {
    assertEquals(16_363, AggregationHeader.MAX_ELEMENTS);
    assertEquals(65_504, AggregationHeader.packetBytes(AggregationHeader.MAX_ELEMENTS));
    assertTrue(
        AggregationHeader.packetBytes(AggregationHeader.MAX_ELEMENTS + 1)
            > AggregationHeader.MAX_DATAGRAM_BYTES);
  }

  @Test
  void aContributionIsWrittenAsTheGoldenBytesOnTheHeap() {
    byte[] bytes = new byte[GOLDEN.length];
    assertEquals(60, writeGolden(new UnsafeBuffer(bytes), 0));
    assertArrayEquals(GOLDEN, bytes);
  }

  @Test
  void aContributionIsWrittenAsTheGoldenBytesInADirectBuffer() {
    UnsafeBuffer direct = new UnsafeBuffer(ByteBuffer.allocateDirect(GOLDEN.length));
    assertEquals(60, writeGolden(direct, 0));
    assertArrayEquals(GOLDEN, bytesOf(direct, 0, GOLDEN.length));
  }

  @Test
  void aContributionIsWrittenAsTheGoldenBytesInsideASliceAndTouchesNothingElse() {
    UnsafeBuffer[] slices = {
      new UnsafeBuffer(new byte[100], 11, 80),
      new UnsafeBuffer(ByteBuffer.allocate(100).slice(11, 80)),
      new UnsafeBuffer(ByteBuffer.allocateDirect(100).slice(11, 80)),
    };
    for (UnsafeBuffer slice : slices) {
      slice.setMemory(0, 80, (byte) 0xEE);
      assertEquals(60, writeGolden(slice, 7));
      assertArrayEquals(GOLDEN, bytesOf(slice, 7, GOLDEN.length));
      assertEquals((byte) 0xEE, slice.getByte(6));
      assertEquals((byte) 0xEE, slice.getByte(67));
    }
  }

  @Test
  void theGoldenBytesAreReadFromTheHeap() {
    assertReadsGolden(new UnsafeBuffer(GOLDEN.clone()), 0, GOLDEN.length);
    assertReadsGolden(new UnsafeBuffer(ByteBuffer.wrap(GOLDEN.clone())), 0, GOLDEN.length);
  }

  @Test
  void theGoldenBytesAreReadFromADirectBuffer() {
    ByteBuffer direct = ByteBuffer.allocateDirect(GOLDEN.length).put(0, GOLDEN);
    assertReadsGolden(new UnsafeBuffer(direct), 0, GOLDEN.length);
  }

  @Test
  void theGoldenBytesAreReadAtAnOffsetInsideASlice() {
    byte[] array = new byte[100];
    System.arraycopy(GOLDEN, 0, array, 18, GOLDEN.length);
    ByteBuffer direct = ByteBuffer.allocateDirect(100).put(0, array);
    assertReadsGolden(new UnsafeBuffer(array, 11, 80), 7, GOLDEN.length);
    assertReadsGolden(new UnsafeBuffer(ByteBuffer.wrap(array).slice(11, 80)), 7, GOLDEN.length);
    assertReadsGolden(new UnsafeBuffer(direct, 11, 80), 7, GOLDEN.length);
    assertReadsGolden(new UnsafeBuffer(direct.clear().slice(11, 80)), 7, GOLDEN.length);
  }

  @Test
  void aFreshHeaderIsZeroButForMagicVersionKindTagTypeAndOperation() {
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[52]);
    buffer.setMemory(0, 52, (byte) 0xFF);
    header.start(buffer, 0, PacketKind.PROBE, TAG_WORD);
    assertEquals(52, header.finish(buffer));
    assertArrayEquals(
        withCheckValue(
            HexFormat.of()
                .parseHex("123456710003fffe534d010500010100" + "00".repeat(32) + "00000000")),
        bytesOf(buffer, 0, 52));
  }

  @Test
  void trailingBytesAreTheNextPacketsBusiness() {
    byte[] longer = new byte[GOLDEN.length + 13];
    System.arraycopy(GOLDEN, 0, longer, 0, GOLDEN.length);
    assertReadsGolden(new UnsafeBuffer(longer), 0, longer.length);
  }

  @Test
  void twoPacketsInOneDatagramAreWalkedByTheirLengths() {
    UnsafeBuffer datagram = new UnsafeBuffer(new byte[112]);
    int first = writeGolden(datagram, 0);
    header.start(datagram, first, PacketKind.ACK, TAG_WORD).chunk(9);
    int second = header.finish(datagram);
    assertEquals(112, first + second);

    assertSame(Malformed.NONE, header.check(datagram, 0, 112));
    assertSame(PacketKind.CONTRIBUTION, header.kind());
    assertEquals(60, header.packetBytes());
    assertSame(Malformed.NONE, header.check(datagram, 60, 52));
    assertSame(PacketKind.ACK, header.kind());
    assertEquals(9, header.chunk());
    assertEquals(52, header.packetBytes());
  }

  @Test
  void lessThanAHeaderAndItsCheckValueIsTooShort() {
    UnsafeBuffer packet = new UnsafeBuffer(GOLDEN.clone());
    assertSame(Malformed.TOO_SHORT, header.check(packet, 0, 51));
    assertSame(Malformed.TOO_SHORT, header.check(packet, 0, 0));
    assertSame(Malformed.TOO_SHORT, header.check(packet, 0, -1));
  }

  @Test
  void aByteLessThanTheElementCountSaysIsTruncated() {
    UnsafeBuffer packet = new UnsafeBuffer(GOLDEN.clone());
    assertSame(Malformed.TRUNCATED, header.check(packet, 0, 59));
    assertSame(Malformed.TRUNCATED, header.check(packet, 0, 52));
  }

  @Test
  void anElementMoreThanThereIsIsTruncated() {
    assertMutationIs(Malformed.TRUNCATED, AggregationHeader.ELEMENT_COUNT_OFFSET, 3);
    assertMutationIs(Malformed.TRUNCATED, AggregationHeader.ELEMENT_COUNT_OFFSET + 1, 0xFF);
  }

  @Test
  void otherMagicIsNotAPacketOfOurs() {
    assertMutationIs(Malformed.BAD_MAGIC, AggregationHeader.MAGIC_OFFSET, 'M');
    assertMutationIs(Malformed.BAD_MAGIC, AggregationHeader.MAGIC_OFFSET + 1, 'S');
  }

  @Test
  void anotherVersionIsRefused() {
    assertMutationIs(Malformed.UNKNOWN_VERSION, AggregationHeader.VERSION_OFFSET, 0);
    assertMutationIs(Malformed.UNKNOWN_VERSION, AggregationHeader.VERSION_OFFSET, 2);
  }

  @Test
  void aKindWithoutMeaningIsRefused() {
    assertMutationIs(Malformed.UNKNOWN_KIND, AggregationHeader.KIND_OFFSET, 0);
    assertMutationIs(Malformed.UNKNOWN_KIND, AggregationHeader.KIND_OFFSET, 9);
    assertMutationIs(Malformed.UNKNOWN_KIND, AggregationHeader.KIND_OFFSET, 0xFF);
  }

  @Test
  void everyFlagBitButTheThreeLowestIsUnknown() {
    for (int bit = 3; bit < 8; bit++) {
      assertMutationIs(Malformed.UNKNOWN_FLAG, AggregationHeader.FLAGS_OFFSET, 1 << bit);
    }
  }

  @Test
  void anElementTypeWithoutMeaningIsRefused() {
    assertMutationIs(Malformed.UNKNOWN_TYPE, AggregationHeader.ELEMENT_TYPE_OFFSET, 0);
    assertMutationIs(Malformed.UNKNOWN_TYPE, AggregationHeader.ELEMENT_TYPE_OFFSET, 3);
  }

  @Test
  void anOperationKindWithoutMeaningIsRefused() {
    assertMutationIs(Malformed.UNKNOWN_OPERATION, AggregationHeader.OPERATION_KIND_OFFSET, 0);
    assertMutationIs(Malformed.UNKNOWN_OPERATION, AggregationHeader.OPERATION_KIND_OFFSET, 4);
  }

  @Test
  void aChunkWithItsTopBitSetIsRefused() {
    assertMutationIs(Malformed.NEGATIVE_CHUNK, AggregationHeader.CHUNK_OFFSET + 7, 0x80);
  }

  @Test
  void aChallengeMayHaveItsTopBitSet() {
    UnsafeBuffer packet = new UnsafeBuffer(new byte[52]);
    header.start(packet, 0, PacketKind.CHALLENGE, TAG_WORD).chunk(Long.MIN_VALUE + 1);
    header.finish(packet);
    assertSame(Malformed.NONE, header.check(packet, 0, 52));
    assertEquals(Long.MIN_VALUE + 1, header.chunk());
  }

  @Test
  void elementsInAKindWithoutThemAreRefused() {
    for (PacketKind kind : PacketKind.values()) {
      if (!kind.carriesElements()) {
        assertMutationIs(Malformed.UNEXPECTED_ELEMENTS, AggregationHeader.KIND_OFFSET, kind.code());
      }
    }
  }

  @Test
  void aDamagedElementOrCheckValueOrTagHasTheWrongCheckValue() {
    assertMutationIs(Malformed.WRONG_CHECK_VALUE, AggregationHeader.HEADER_BYTES, 1);
    assertMutationIs(Malformed.WRONG_CHECK_VALUE, GOLDEN.length - 1, GOLDEN[GOLDEN.length - 1] ^ 1);
    assertMutationIs(Malformed.WRONG_CHECK_VALUE, AggregationHeader.TAG_OFFSET, 0x13);
  }

  private int writeGolden(MutableDirectBuffer buffer, int offset) {
    header
        .start(buffer, offset, PacketKind.CONTRIBUTION, TAG_WORD)
        .flags(AggregationHeader.RETRANSMISSION)
        .elementType(ElementType.FLOAT32)
        .operationKind(OperationKind.MAX)
        .nonFinite(1)
        .exponent(-7)
        .elementCount(2)
        .run(0x01020304)
        .cookie(0xF122334455667788L)
        .chunk(0x1_0000_0005L)
        .operation(0xAABBCCDD)
        .operationElements(1_000_000);
    Elements.write(ELEMENTS, 0, buffer, header.elementsOffset(), 2);
    return header.finish(buffer);
  }

  private void assertReadsGolden(DirectBuffer buffer, int offset, int length) {
    assertSame(Malformed.NONE, header.check(buffer, offset, length));
    assertEquals(60, header.packetBytes());
    assertEquals(offset + 48, header.elementsOffset());
    assertEquals(TAG_WORD, header.tag());
    assertSame(PacketKind.CONTRIBUTION, header.kind());
    assertEquals(1, header.flags());
    assertTrue(header.isRetransmission());
    assertSame(ElementType.FLOAT32, header.elementType());
    assertSame(OperationKind.MAX, header.operationKind());
    assertEquals(1, header.nonFinite());
    assertEquals(-7, header.exponent());
    assertEquals(2, header.elementCount());
    assertEquals(0x01020304, header.run());
    assertEquals(0xF122334455667788L, header.cookie());
    assertEquals(0x1_0000_0005L, header.chunk());
    assertEquals(0xAABBCCDD, header.operation());
    assertEquals(1_000_000, header.operationElements());
    int[] elements = new int[2];
    Elements.read(buffer, header.elementsOffset(), elements, 0, 2);
    assertArrayEquals(ELEMENTS, elements);
  }

  private void assertMutationIs(Malformed expected, int offset, int value) {
    byte[] mutated = GOLDEN.clone();
    assertFalse(mutated[offset] == (byte) value, "the mutation must change the byte");
    mutated[offset] = (byte) value;
    assertSame(expected, header.check(new UnsafeBuffer(mutated), 0, mutated.length));
  }

  private static byte[] withCheckValue(byte[] packet) {
    int crc = BitwiseCrc32c.of(packet, 0, packet.length - 4);
    for (int i = 0; i < 4; i++) {
      packet[packet.length - 4 + i] = (byte) (crc >>> (8 * i));
    }
    return packet;
  }

  private static byte[] bytesOf(DirectBuffer buffer, int offset, int length) {
    byte[] bytes = new byte[length];
    buffer.getBytes(offset, bytes);
    return bytes;
  }
}
