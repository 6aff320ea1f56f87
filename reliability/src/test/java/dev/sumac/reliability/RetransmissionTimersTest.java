package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RetransmissionTimersTest {
  private static final long TICK_NS = 1 << 17;
  private static final long START_NS = 1_000_000_007L;

  private final List<Integer> fired = new ArrayList<>();
  private long answerNs = RetransmissionTimers.DISARM;
  private final RetransmissionTimers timers =
      new RetransmissionTimers(
          512,
          (slot, nowNs) -> {
            fired.add(slot);
            return answerNs;
          });

  @Test
  void aTimerFiresAtItsDeadlineAndNotBefore() {
    timers.arm(3, START_NS + 1_000_000, START_NS);
    assertTrue(timers.isAnyArmed());
    timers.poll(START_NS);
    timers.poll(START_NS + 999_999);
    assertEquals(List.of(), fired);
    timers.poll(START_NS + 1_000_000);
    assertEquals(List.of(3), fired);
    assertFalse(timers.isAnyArmed());
  }

  @Test
  void aTimerFiresAtItsDeadlineWhereverInATickItIs() {
    for (long deadlineNs :
        new long[] {0, 1, TICK_NS - 1, TICK_NS, TICK_NS + 1, 5 * TICK_NS + 7, 600 * TICK_NS}) {
      fired.clear();
      long nowNs = START_NS + 1_000 * deadlineNs;
      timers.arm(0, nowNs + deadlineNs, nowNs);
      if (deadlineNs > 0) {
        timers.poll(nowNs + deadlineNs - 1);
      }
      assertEquals(List.of(), fired, "before " + deadlineNs);
      timers.poll(nowNs + deadlineNs);
      assertEquals(List.of(0), fired, "at " + deadlineNs);
    }
  }

  @Test
  void aPollFarBehindTheDeadlineFiresOnce() {
    timers.arm(0, START_NS + 1_000_000, START_NS);
    timers.poll(START_NS + 10_000_000_000L);
    timers.poll(START_NS + 20_000_000_000L);
    assertEquals(List.of(0), fired);
  }

  @Test
  void aTimerThatRunsKeepsItsDeadline() {
    timers.arm(0, START_NS + 5_000_000, START_NS);
    timers.arm(0, START_NS + 1_000_000, START_NS);
    timers.poll(START_NS + 4_999_999);
    assertEquals(List.of(), fired);
    timers.poll(START_NS + 5_000_000);
    assertEquals(List.of(0), fired);
  }

  @Test
  void aTimerFiresAgainWhenItsHandlerAskedForIt() {
    answerNs = START_NS + 3_000_000;
    timers.arm(0, START_NS + 1_000_000, START_NS);
    timers.poll(START_NS + 1_000_000);
    assertEquals(List.of(0), fired);
    timers.poll(START_NS + 2_999_999);
    assertEquals(List.of(0), fired);
    answerNs = RetransmissionTimers.DISARM;
    timers.poll(START_NS + 3_000_000);
    assertEquals(List.of(0, 0), fired);
    timers.poll(START_NS + 9_000_000);
    assertEquals(List.of(0, 0), fired);
  }

  @Test
  void aDisarmedTimerCanBeArmedAgain() {
    timers.arm(0, START_NS + 1_000_000, START_NS);
    timers.poll(START_NS + 1_000_000);
    timers.arm(0, START_NS + 2_000_000, START_NS + 1_000_000);
    timers.poll(START_NS + 2_000_000);
    assertEquals(List.of(0, 0), fired);
  }

  @Test
  void anHourWithoutATimerCostsTheNextOneNothing() {
    timers.arm(0, START_NS + 1_000_000, START_NS);
    timers.poll(START_NS + 1_000_000);
    long laterNs = START_NS + 3_600_000_000_000L;
    timers.arm(1, laterNs + 1_000_000, laterNs);
    timers.poll(laterNs + 999_999);
    assertEquals(List.of(0), fired);
    timers.poll(laterNs + 1_000_000);
    assertEquals(List.of(0, 1), fired);
  }

  @Test
  void everyOneOfManySlotsFiresOnceAtItsOwnDeadline() {
    for (int slot = 0; slot < 512; slot++) {
      timers.arm(slot, START_NS + (slot + 1) * 1_000_000L, START_NS);
    }
    for (int slot = 0; slot < 512; slot++) {
      timers.poll(START_NS + (slot + 1) * 1_000_000L - 1);
      assertEquals(slot, fired.size());
      timers.poll(START_NS + (slot + 1) * 1_000_000L);
    }
    assertEquals(IntStream.range(0, 512).boxed().toList(), fired);
  }

  @Test
  void slotsThatAreDueAtOnceAllFireInOnePoll() {
    for (int slot = 511; slot >= 0; slot--) {
      timers.arm(slot, START_NS + 1_000_000, START_NS);
    }
    timers.poll(START_NS + 1_000_000);
    assertEquals(IntStream.range(0, 512).boxed().toList(), fired.stream().sorted().toList());
  }

  @Test
  void aClearedTimerDoesNotFireAndCanBeArmedAnew() {
    timers.arm(0, START_NS + 1_000_000, START_NS);
    timers.clear();
    assertFalse(timers.isAnyArmed());
    timers.arm(0, START_NS + 2_000_000, START_NS);
    timers.poll(START_NS + 1_999_999);
    assertEquals(List.of(), fired);
    timers.poll(START_NS + 2_000_000);
    assertEquals(List.of(0), fired);
  }

  @Test
  void withoutATimerNothingFires() {
    timers.poll(START_NS);
    timers.clear();
    assertFalse(timers.isAnyArmed());
    assertEquals(List.of(), fired);
  }
}
