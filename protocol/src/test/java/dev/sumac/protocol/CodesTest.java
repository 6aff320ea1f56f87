package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

class CodesTest {
  @Test
  void elementTypesHaveTheirCodesOfTheWire() {
    assertSame(ElementType.INT32, ElementType.ofCode(1));
    assertSame(ElementType.FLOAT32, ElementType.ofCode(2));
    for (ElementType type : ElementType.values()) {
      assertSame(type, ElementType.ofCode(type.code()));
    }
    assertAllOthersUnknown(2, ElementType::ofCode);
  }

  @Test
  void operationKindsHaveTheirCodesOfTheWire() {
    assertSame(OperationKind.SUM, OperationKind.ofCode(1));
    assertSame(OperationKind.MIN, OperationKind.ofCode(2));
    assertSame(OperationKind.MAX, OperationKind.ofCode(3));
    for (OperationKind kind : OperationKind.values()) {
      assertSame(kind, OperationKind.ofCode(kind.code()));
    }
    assertAllOthersUnknown(3, OperationKind::ofCode);
  }

  @Test
  void packetKindsHaveTheirCodesOfTheWire() {
    assertSame(PacketKind.CONTRIBUTION, PacketKind.ofCode(1));
    assertSame(PacketKind.RESULT, PacketKind.ofCode(2));
    assertSame(PacketKind.ACK, PacketKind.ofCode(3));
    assertSame(PacketKind.SOLICIT, PacketKind.ofCode(4));
    assertSame(PacketKind.PROBE, PacketKind.ofCode(5));
    assertSame(PacketKind.CHALLENGE, PacketKind.ofCode(6));
    assertSame(PacketKind.ANSWER, PacketKind.ofCode(7));
    assertSame(PacketKind.PROVED, PacketKind.ofCode(8));
    for (PacketKind kind : PacketKind.values()) {
      assertSame(kind, PacketKind.ofCode(kind.code()));
    }
    assertAllOthersUnknown(8, PacketKind::ofCode);
  }

  @Test
  void onlyContributionsAndResultsCarryElements() {
    assertEquals(
        List.of(PacketKind.CONTRIBUTION, PacketKind.RESULT),
        Arrays.stream(PacketKind.values()).filter(PacketKind::carriesElements).toList());
  }

  private static void assertAllOthersUnknown(int highest, IntFunction<?> ofCode) {
    for (int code = Byte.MIN_VALUE; code <= 256; code++) {
      if (code < 1 || code > highest) {
        assertNull(ofCode.apply(code), "code " + code);
      }
    }
  }
}
