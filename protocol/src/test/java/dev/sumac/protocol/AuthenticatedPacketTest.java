package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** The authentication tag within a packet; the golden bytes come from Python. */
final class AuthenticatedPacketTest {
  private static final String GOLDEN_HEX =
      "123456710003fffe534d010105020301f9ff020004030201" // flags: authenticated, retransmission
          + "88776655443322f10500000001000000ddccbbaa40420f00"
          + "0000803f000000c0" // two elements
          + "9ecb2018633f07b4" // SipHash-2-4 by key 00 01 ... 0f
          + "d4409e03"; // CRC32C

  private final SipHash key = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);
  private final AggregationHeader header = new AggregationHeader(key);
  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[100]);

  @Test
  void aPacketIsWrittenAsTheGoldenBytes() {
    assertEquals(68, write(header));
    byte[] written = new byte[68];
    buffer.getBytes(9, written);
    assertEquals(GOLDEN_HEX, HexFormat.of().formatHex(written));
    assertEquals(68, header.bytesOf(2));
    assertEquals(68, AggregationHeader.packetBytes(2, true));
    assertEquals(68, AggregationHeader.firstPacketBytes(buffer, 9, 91));
  }

  @Test
  void theGoldenBytesAreAuthenticForTheirKeyAndNoOther() {
    UnsafeBuffer golden = new UnsafeBuffer(HexFormat.of().parseHex(GOLDEN_HEX));
    AggregationHeader reader = new AggregationHeader();
    assertSame(Malformed.NONE, reader.check(golden, 0, 68));
    assertEquals(68, reader.packetBytes());
    assertTrue(reader.isAuthentic(key));
    assertFalse(reader.isAuthentic(new SipHash(1, 2)));
    assertFalse(reader.isAuthentic(null), "a run without authentication takes none with a tag");
    assertSame(Malformed.TRUNCATED, reader.check(golden, 0, 67));
  }

  @Test
  void aPacketWithoutATagIsNotAuthentic() {
    AggregationHeader plain = new AggregationHeader();
    assertEquals(60, write(plain));
    assertTrue(plain.isAuthentic(null));
    assertFalse(plain.isAuthentic(key));
  }

  /** What an attacker would do: change a bit and mend the check value. */
  @Test
  void noBitCanBeChanged() {
    AggregationHeader forger = new AggregationHeader();
    for (int bit = 0; bit < 64 * 8; bit++) {
      write(header);
      int at = 9 + (bit >> 3);
      buffer.putByte(at, (byte) (buffer.getByte(at) ^ (1 << (bit & 7))));
      forger.check(buffer, 9, 68);
      if (forger.packetBytes() > 91) {
        continue; // An element count that does not fit any more.
      }
      int length = forger.finish(buffer);
      if (forger.check(buffer, 9, length) == Malformed.NONE) {
        assertFalse(forger.isAuthentic(key), "bit " + bit);
      }
    }
  }

  @Test
  void theLargestAuthenticatedPacketFitsOneDatagram() {
    int most = AggregationHeader.MAX_AUTHENTICATED_ELEMENTS;
    assertTrue(AggregationHeader.packetBytes(most, true) <= AggregationHeader.MAX_DATAGRAM_BYTES);
    assertTrue(
        AggregationHeader.packetBytes(most + 1, true) > AggregationHeader.MAX_DATAGRAM_BYTES);
  }

  private int write(AggregationHeader writer) {
    writer
        .start(buffer, 9, PacketKind.CONTRIBUTION, 0x1234_5671_0003_FFFEL)
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
    Elements.write(new int[] {0x3F800000, 0xC0000000}, 0, buffer, writer.elementsOffset(), 2);
    return writer.finish(buffer);
  }
}
