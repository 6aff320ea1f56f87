package dev.sumac.reliability;

import java.util.Arrays;

/**
 * Remembers in which order chunks in flight were sent, and finds those that answers to later ones
 * have passed. Not thread-safe; allocates nothing after construction; a few operations a packet.
 *
 * <p>A queue holds one entry for each sending, oldest first. An entry is void once its slot was
 * answered or sent again.
 *
 * <p>Answers are <em>counted</em>: a chunk is passed when so many that were sent after it have been
 * answered (RFC 5681's duplicate acknowledgements). How far ahead the furthest answer is says
 * nothing: the answer to a chunk for which all other ranks have waited comes early, before those
 * that wait for another rank.
 */
final class SendOrder {
  private static final int MIN_THRESHOLD = 4;
  private static final int MAX_THRESHOLD = 64;
  private static final long NOT_IN_FLIGHT = -1;

  private final int threshold;
  private final int[] queue;
  private final int mask;
  private final boolean[] counted;
  private final long[] sentAs;
  private long head;
  private long tail;
  private int answeredBehindHead;

  SendOrder(int slots) {
    threshold = Math.max(MIN_THRESHOLD, Math.min(MAX_THRESHOLD, slots / 8));
    queue = new int[Integer.highestOneBit(slots) * 4];
    mask = queue.length - 1;
    counted = new boolean[queue.length];
    sentAs = new long[slots];
    Arrays.fill(sentAs, NOT_IN_FLIGHT);
  }

  /** The slot's chunk has left, for the first time or again. */
  void sent(int slot) {
    if (tail - head == queue.length) {
      dropHead(); // The oldest one is left to its timer.
    }
    sentAs[slot] = tail;
    queue[(int) tail & mask] = slot;
    counted[(int) tail & mask] = false;
    tail++;
  }

  /**
   * The slot's chunk has been answered.
   *
   * @param repeated whether it was sent more than once; then nobody knows which sending the answer
   *     is for, and it does not count
   */
  void answered(int slot, boolean repeated) {
    long at = sentAs[slot];
    if (!repeated && at >= head) {
      counted[(int) at & mask] = true;
      answeredBehindHead++;
    }
    sentAs[slot] = NOT_IN_FLIGHT;
  }

  /**
   * A slot whose chunk was passed by the answers to a threshold of chunks that were sent later, or
   * -1; each once a sending.
   */
  int nextPassed() {
    while (head < tail) {
      int slot = queue[(int) head & mask];
      boolean isVoid = sentAs[slot] != head;
      if (!isVoid && answeredBehindHead < threshold) {
        return -1;
      }
      dropHead();
      if (!isVoid) {
        return slot;
      }
    }
    return -1;
  }

  private void dropHead() {
    if (counted[(int) head & mask]) {
      answeredBehindHead--;
    }
    head++;
  }
}
