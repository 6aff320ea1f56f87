package dev.sumac.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class KernelDropsTest {
  private static final List<String> TABLE =
      List.of(
          "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout"
              + " inode ref pointer drops            ",
          "  411: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0"
              + " 48213 2 0000000000000000 17         ",
          " 2043: 00000000:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0"
              + " 48977 2 0000000000000000 25         ",
          " 2044: 00000000:00AB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0"
              + " 48978 2 0000000000000000 3          ");

  @Test
  void theDropsOfAllSocketsOfThePortAreSummed() {
    assertEquals(42, KernelDrops.add(-1, TABLE, 0x1F90));
  }

  @Test
  void anotherTableAddsToWhatIsKnown() {
    assertEquals(142, KernelDrops.add(100, TABLE, 8_080));
    assertEquals(42, KernelDrops.add(KernelDrops.add(-1, TABLE, 8_080), List.of(), 8_080));
  }

  @Test
  void aPortBelowFourHexadecimalDigitsIsFound() {
    assertEquals(3, KernelDrops.add(-1, TABLE, 0xAB));
  }

  @Test
  void aPortThatNoSocketHasIsUnknown() {
    assertEquals(-1, KernelDrops.add(-1, TABLE, 8_081));
    assertEquals(-1, KernelDrops.add(-1, List.of(), 8_080));
  }

  @Test
  void aRemotePortDoesNotCount() {
    List<String> connected =
        List.of(
            "  411: 0100007F:0001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000      "
                + "  0 48213 2 0000000000000000 17         ");
    assertEquals(-1, KernelDrops.add(-1, connected, 8_080));
  }

  @Test
  void aLineWithoutTheColumnOfDropsDoesNotCount() {
    assertEquals(-1, KernelDrops.add(-1, List.of("  411: 0100007F:1F90 00000000:0000 07"), 8_080));
  }
}
