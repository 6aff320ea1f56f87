package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class LogLimitTest {
  private static final long SECOND_NS = 1_000_000_000L;

  private final LogLimit limit = new LogLimit();

  @Test
  void oneLineASecondForEachReasonWithTheNumberHeldBack() {
    assertEquals("", limit.admit("a", 5));
    assertEquals("", limit.admit("b", 6), "another reason has a line of its own");
    for (int i = 0; i < 1_234; i++) {
      assertNull(limit.admit("a", 5 + i));
    }
    assertNull(limit.admit("a", 4 + SECOND_NS));
    assertEquals(" (1,235 more like this held back)", limit.admit("a", 5 + SECOND_NS));
    assertEquals("", limit.admit("a", 5 + 2 * SECOND_NS), "none was held back since");
  }

  /** Case 65: a million refusals in a minute are 60 lines. */
  @Test
  void aMillionLinesInAMinuteAreSixty() {
    int lines = 0;
    for (int i = 0; i < 1_000_000; i++) {
      lines += limit.admit("refused", i * 60_000L) == null ? 0 : 1;
    }
    assertEquals(60, lines);
  }

  @Test
  void whatIsHeldBackWhenTheFloodEndsIsToldOnce() {
    List<String> told = new ArrayList<>();
    limit.admit("a", 0);
    limit.admit("a", 1);
    limit.flush(SECOND_NS - 1, told::add);
    assertEquals(List.of(), told);
    limit.flush(SECOND_NS, told::add);
    limit.flush(3 * SECOND_NS, told::add);
    assertEquals(List.of("1 lines held back: a"), told);
  }

  @Test
  void aStrangersTextStaysOnOneLine() {
    assertEquals("a?b?[31m", LogLimit.oneLine("a\nb\u001b[31m"));
    assertEquals(203, LogLimit.oneLine("x".repeat(5_000)).length());
  }
}
