package dev.sumac.reliability;

import java.util.Arrays;

/**
 * Remembers in which order chunks in flight were sent, and finds those that answers to later ones
 * have passed. Not thread-safe; allocates nothing after construction; a few operations a packet.
 *
 * <p>A queue holds one entry for each sending, oldest first. An entry is void once its slot was
 * answered or sent again.
 */
final class SendOrder {
  private static final int MIN_THRESHOLD = 4;
  private static final int MAX_THRESHOLD = 64;
  private static final long ANSWERED = -1;

  private final int threshold;
  private final int[] queue;
  private final int mask;
  private final long[] sentAs;
  private long head;
  private long tail;
  private long latestAnswered = -1;

  SendOrder(int slots) {
    threshold = Math.max(MIN_THRESHOLD, Math.min(MAX_THRESHOLD, slots / 8));
    queue = new int[Integer.highestOneBit(slots) * 4];
    mask = queue.length - 1;
    sentAs = new long[slots];
    Arrays.fill(sentAs, ANSWERED);
  }

  /** The slot's chunk has left, for the first time or again. */
  void sent(int slot) {
    if (tail - head == queue.length) {
      head++; // The oldest one is left to its timer.
    }
    sentAs[slot] = tail;
    queue[(int) tail & mask] = slot;
    tail++;
  }

  /**
   * The slot's chunk has been answered.
   *
   * @param repeated whether it was sent more than once; then nobody knows which sending the answer
   *     is for
   */
  void answered(int slot, boolean repeated) {
    if (!repeated) {
      latestAnswered = Math.max(latestAnswered, sentAs[slot]);
    }
    sentAs[slot] = ANSWERED;
  }

  /**
   * A slot whose chunk was passed by the answer to one that was sent a threshold later, or -1; each
   * once a sending.
   */
  int nextPassed() {
    while (head < tail) {
      int slot = queue[(int) head & mask];
      boolean isVoid = sentAs[slot] != head;
      if (!isVoid && latestAnswered - head < threshold) {
        return -1;
      }
      head++;
      if (!isVoid) {
        return slot;
      }
    }
    return -1;
  }
}
