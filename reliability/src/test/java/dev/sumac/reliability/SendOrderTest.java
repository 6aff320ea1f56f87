package dev.sumac.reliability;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SendOrderTest {
  @Test
  void nothingIsPassedWhileAnswersComeInTheOrderOfSending() {
    SendOrder order = new SendOrder(8);
    for (int round = 0; round < 1_000; round++) {
      for (int slot = 0; slot < 8; slot++) {
        order.sent(slot);
      }
      for (int slot = 0; slot < 8; slot++) {
        order.answered(slot, false);
        assertEquals(-1, order.nextPassed());
      }
    }
  }

  @Test
  void aSlotIsPassedByAThresholdOfAnswersToLaterOnes() {
    SendOrder order = inFlight(8);
    for (int slot : new int[] {7, 2, 5}) {
      order.answered(slot, false);
      assertEquals(-1, order.nextPassed());
    }
    order.answered(4, false);
    assertEquals(0, order.nextPassed(), "four later ones have been answered");
    assertEquals(1, order.nextPassed());
    assertEquals(-1, order.nextPassed(), "3 has only three");
  }

  /** All other ranks had waited for that one: its answer says nothing about the others. */
  @Test
  void oneEarlyAnswerPassesNobodyHoweverFarAheadItIs() {
    SendOrder order = inFlight(512);
    order.answered(511, false);
    assertEquals(-1, order.nextPassed());
    for (int slot = 0; slot < 448; slot++) {
      order.answered(slot, false);
      assertEquals(-1, order.nextPassed());
    }
  }

  @Test
  void answersBeforeTheOldestInFlightNoLongerCount() {
    SendOrder order = inFlight(8);
    for (int slot = 0; slot < 4; slot++) {
      order.answered(slot, false);
    }
    assertEquals(-1, order.nextPassed());
    for (int slot = 0; slot < 4; slot++) {
      order.sent(slot); // Later than 4 to 7.
    }
    for (int slot = 0; slot < 3; slot++) {
      order.answered(slot, false);
      assertEquals(-1, order.nextPassed());
    }
    order.answered(3, false);
    assertEquals(4, order.nextPassed());
  }

  @Test
  void theAnswerToARepeatedChunkPassesNobody() {
    SendOrder order = inFlight(8);
    order.sent(7);
    order.answered(7, true);
    assertEquals(-1, order.nextPassed());
  }

  @Test
  void theThresholdIsAnEighthOfTheWindowWithinFourAndSixtyFour() {
    assertEquals(4, answersUntilPassed(8));
    assertEquals(16, answersUntilPassed(128));
    assertEquals(64, answersUntilPassed(512));
    assertEquals(64, answersUntilPassed(1_024));
  }

  @Test
  void moreRepetitionsThanTheQueueHoldsLeaveTheOldestToItsTimer() {
    SendOrder order = new SendOrder(2);
    order.sent(0);
    for (int i = 0; i < 100; i++) {
      order.sent(1);
    }
    order.answered(1, false);
    assertEquals(-1, order.nextPassed());
  }

  private static int answersUntilPassed(int slots) {
    SendOrder order = inFlight(slots);
    int answers = 0;
    do {
      order.answered(++answers, false);
    } while (order.nextPassed() < 0);
    return answers;
  }

  private static SendOrder inFlight(int slots) {
    SendOrder order = new SendOrder(slots);
    for (int slot = 0; slot < slots; slot++) {
      order.sent(slot);
    }
    return order;
  }
}
