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
  void aSlotIsPassedByTheAnswerToOneThatWasSentAThresholdLater() {
    SendOrder order = new SendOrder(8);
    for (int slot = 0; slot < 8; slot++) {
      order.sent(slot);
    }
    order.answered(4, false);
    assertEquals(0, order.nextPassed(), "4 is 4 later than 0");
    assertEquals(-1, order.nextPassed(), "and 3 later than 1");
    order.answered(7, false);
    assertEquals(1, order.nextPassed());
    assertEquals(2, order.nextPassed());
    assertEquals(3, order.nextPassed());
    assertEquals(-1, order.nextPassed(), "5 and 6 are too close to 7");
  }

  @Test
  void theAnswerToARepeatedChunkPassesNobody() {
    SendOrder order = new SendOrder(8);
    for (int slot = 0; slot < 8; slot++) {
      order.sent(slot);
    }
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
    SendOrder order = new SendOrder(slots);
    for (int slot = 0; slot < slots; slot++) {
      order.sent(slot);
    }
    int answers = 0;
    do {
      order.answered(++answers, false);
    } while (order.nextPassed() < 0);
    return answers;
  }
}
