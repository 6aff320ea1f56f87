package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class DropReportTest {
  @Test
  void oneLineForEachReasonThatMovedWithTheNumberSinceTheLastTick() {
    DropReport report = new DropReport();
    List<String> lines = new ArrayList<>();
    report.onTick(
        counter ->
            switch (counter) {
              case DROPPED_WRONG_COOKIE -> 12_345;
              case MALFORMED_BAD_MAGIC -> 1;
              case CONTRIBUTIONS, DROPPED_DUPLICATE -> 7;
              default -> 0;
            },
        lines::add);
    assertEquals(
        List.of("dropped 12,345 packets: wrong cookie", "dropped 1 packets: malformed bad magic"),
        lines);
    lines.clear();
    report.onTick(counter -> counter == Counter.DROPPED_WRONG_COOKIE ? 12_347 : 0, lines::add);
    assertEquals(List.of("dropped 2 packets: wrong cookie"), lines);
  }
}
