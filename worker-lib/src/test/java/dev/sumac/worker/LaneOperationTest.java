package dev.sumac.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.OperationKind;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which packet carries what. */
final class LaneOperationTest {
  private static final int WINDOW = 4;
  private static final int ELEMENTS = 10;

  @ParameterizedTest
  @CsvSource({"1, 1", "3, 1", "4, 1", "5, 1", "23, 1", "1, 3", "2, 3", "3, 3", "40, 3"})
  void everyChunkTravelsOnceAndItsExponentInTimeBeforeIt(int chunks, int lanes) {
    float[] values = new float[chunks * ELEMENTS - 3];
    Operation operation =
        new Operation(new FixedPointCodec(Operand.of(values), Operand.of(values), 2), ELEMENTS, 1);
    assertEquals(chunks, operation.chunks());
    int[] data = new int[chunks];
    int[] exponents = new int[chunks];
    for (int lane = 0; lane < lanes; lane++) {
      long first = 1_000;
      LaneOperation part = new LaneOperation(operation, lane, lanes, first, WINDOW);
      long[] exponentPacket = new long[chunks];
      for (long packet = first; packet < part.end(); packet++) {
        assertTrue(part.holds(packet));
        if (part.isExponentPacket(packet)) {
          for (int i = 0; i < part.partCount(packet); i++) {
            int chunk = part.chunkOf(part.firstPart(packet) + i);
            exponents[chunk]++;
            exponentPacket[chunk] = packet;
          }
          continue;
        }
        int chunk = part.chunkOf(part.partOf(packet));
        data[chunk]++;
        assertEquals(lane, chunk % lanes);
        assertEquals(packet, part.dataPacketOf(part.partOf(packet)));
        long ahead = packet - exponentPacket[chunk];
        assertTrue(ahead >= 1 && ahead <= WINDOW, "a window ahead at most: " + ahead);
        if (part.exponentPartOf(packet) >= 0) {
          int later = part.chunkOf(part.exponentPartOf(packet));
          exponents[later]++;
          exponentPacket[later] = packet;
        }
      }
      assertEquals(part.end() == first, part.isDone(), "a lane without chunks is done at once");
    }
    assertTrue(Arrays.stream(data).allMatch(times -> times == 1));
    assertTrue(Arrays.stream(exponents).allMatch(times -> times == 1));
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "1, 1", "10, 1", "11, 2", "100, 10"})
  void integersNeedNoExponentsAndAnEmptyTensorIsOneEmptyChunk(int length, int packets) {
    int[] values = new int[length];
    Operation operation =
        new Operation(
            new Int32Codec(OperationKind.SUM, Operand.of(values), Operand.of(values)), ELEMENTS, 1);
    LaneOperation part = new LaneOperation(operation, 0, 1, 5, WINDOW);
    assertEquals(5 + packets, part.end());
    assertEquals(0, part.partOf(5));
    assertEquals(-1, part.exponentPartOf(5));
    assertEquals(Math.min(length, ELEMENTS), operation.elementCount(0));
  }
}
