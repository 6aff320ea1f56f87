package dev.sumac.reliability;

import java.util.Arrays;

/**
 * A worker's side of one shard: which chunk is in flight in each slot, when it was sent, and when
 * it must be sent again.
 *
 * <p>Chunk {@code c} goes through slot {@code c mod slots}; the result of chunk {@code c} makes
 * room for {@code c + slots} (self-clocking, SwitchML section 3.5: the window is the pool). A slot
 * has two states:
 *
 * <pre>
 *   IDLE       --sent-->      IN_FLIGHT
 *   IN_FLIGHT  --accept-->    IDLE, and the slot's next chunk is slots further on
 *   IN_FLIGHT  --timeout-->   IN_FLIGHT, sent again
 * </pre>
 *
 * <p>A chunk is sent again early when results of many chunks that were sent after it have come:
 * something of it was lost (or another rank is behind with it, then the repetition is dropped as a
 * duplicate). That is TCP's fast retransmit (RFC 5681, section 3.2) with a threshold that grows
 * with the window.
 *
 * <p>Nothing follows the last chunks of an operation that could pass them. So when only a few are
 * in flight and no result has come for half a round trip, they are all sent again, once (what RFC
 * 8985, section 7, calls a tail loss probe).
 *
 * <p>When a whole timeout passes with no result at all, the other side is slow or silent, and
 * repeating the whole window would only burden it: then one chunk, the oldest, is sent again as a
 * probe, and the timeout doubles. The first result ends that, and every other chunk in flight gets
 * one more (short) timeout.
 *
 * <p>Not thread-safe; allocates nothing in steady state.
 */
public final class SendWindow {
  private static final long IDLE = -1;
  private static final long LATE_POLL_NS = 2_000_000;
  private static final int MAX_TAIL_CHUNKS = 64;

  /** Sends what the window says must be sent again. */
  @FunctionalInterface
  public interface Resender {
    void resend(long chunk);
  }

  private final int slots;
  private final int mask;
  private final long[] next;
  private final long[] inFlight;
  private final long[] sentNs;
  private final boolean[] repeated;
  private final SendOrder order;
  private final RttEstimator rtt;
  private final RetransmissionTimers timers;
  private final Resender resender;

  private int inFlightCount;
  private long lastSampleNs;
  private long lastResultNs;
  private long lastSentNs;
  private boolean isTailRepeated;
  private long lastProbeNs;
  private boolean silent;
  private long lastPollNs;
  private boolean isReadingFirst;
  private long readFirstUntilNs;
  private long retransmissions;

  /**
   * @param slots chunks in flight at most; a power of two
   * @param firstChunk number of the first chunk, 0 or more
   */
  public SendWindow(int slots, long firstChunk, RttEstimator rtt, Resender resender) {
    if (Integer.bitCount(slots) != 1 || firstChunk < 0) {
      throw new IllegalArgumentException(
          "slots " + slots + " must be a power of two, first chunk " + firstChunk + " at least 0");
    }
    this.slots = slots;
    this.mask = slots - 1;
    this.next = new long[slots];
    this.inFlight = new long[slots];
    this.sentNs = new long[slots];
    this.repeated = new boolean[slots];
    this.order = new SendOrder(slots);
    this.rtt = rtt;
    this.resender = resender;
    this.timers = new RetransmissionTimers(slots, this::onTimer);
    Arrays.fill(inFlight, IDLE);
    for (long chunk = firstChunk; chunk < firstChunk + slots; chunk++) {
      next[slotOf(chunk)] = chunk;
    }
  }

  public int slots() {
    return slots;
  }

  public int slotOf(long chunk) {
    return (int) chunk & mask;
  }

  /** The chunk that this slot takes next, or -1 while one is in flight in it. */
  public long sendable(int slot) {
    return inFlight[slot] == IDLE ? next[slot] : -1;
  }

  /** The slot's next chunk has left for the first time. */
  public void sent(int slot, long nowNs) {
    if (inFlightCount++ == 0) {
      lastResultNs = nowNs;
    }
    lastSentNs = nowNs;
    isTailRepeated = false;
    inFlight[slot] = next[slot];
    repeated[slot] = false;
    sentNs[slot] = nowNs;
    order.sent(slot);
    timers.arm(slot, nowNs + rtt.rtoNs(), nowNs);
  }

  /**
   * The result of a chunk has arrived. True the first time, when it must be used and the slot is
   * free again; false for a duplicate, a late one or one that was never asked for.
   */
  public boolean accept(long chunk, long nowNs) {
    int slot = slotOf(chunk);
    if (chunk < 0 || inFlight[slot] != chunk) {
      return false;
    }
    boolean sampleIsDue = rtt.smoothedNs() < 0 || nowNs - lastSampleNs >= rtt.smoothedNs() / 2;
    if (!repeated[slot] && sampleIsDue) {
      rtt.sample(nowNs - sentNs[slot]);
      lastSampleNs = nowNs;
    } else {
      rtt.endBackOff();
    }
    order.answered(slot, repeated[slot]);
    inFlight[slot] = IDLE;
    next[slot] = chunk + slots;
    inFlightCount--;
    lastResultNs = nowNs;
    isTailRepeated = false;
    if (silent) {
      endSilence(nowNs);
    }
    return true;
  }

  public boolean isInFlight(long chunk) {
    return chunk >= 0 && inFlight[slotOf(chunk)] == chunk;
  }

  /** Chunks in flight. */
  public int inFlightCount() {
    return inFlightCount;
  }

  /**
   * Sends again what is overdue. Call it every millisecond or so while chunks are in flight.
   *
   * <p>A caller that comes much later than that has lost its processor for a while: what it waits
   * for may have arrived meanwhile and not been read yet, so nothing is overdue until it has had
   * time to read.
   */
  public void poll(long nowNs) {
    boolean isLate = nowNs - lastPollNs > LATE_POLL_NS;
    lastPollNs = nowNs;
    if (isLate && !isReadingFirst) {
      isReadingFirst = true;
      readFirstUntilNs = nowNs + LATE_POLL_NS;
    }
    if (isReadingFirst && nowNs < readFirstUntilNs) {
      return;
    }
    isReadingFirst = false;
    int passed;
    while ((passed = order.nextPassed()) >= 0) {
      resend(passed, nowNs);
    }
    if (isTailOverdue(nowNs)) {
      repeatTail(nowNs);
    }
    timers.poll(nowNs);
    if (inFlightCount > 0 && nowNs - lastResultNs >= rtt.rtoNs()) {
      probe(nowNs);
    }
  }

  /** Chunks that were sent again since the start, each as often as it was. */
  public long retransmissions() {
    return retransmissions;
  }

  /** Forgets what is in flight and stops all timers; the window is of no use afterwards. */
  public void abandon() {
    timers.clear();
    Arrays.fill(inFlight, IDLE);
    inFlightCount = 0;
  }

  private long onTimer(int slot, long nowNs) {
    if (inFlight[slot] == IDLE) {
      return RetransmissionTimers.DISARM;
    }
    long rtoNs = rtt.rtoNs();
    long dueNs = sentNs[slot] + rtoNs;
    if (dueNs > nowNs) {
      return dueNs;
    }
    if (nowNs - lastResultNs >= rtoNs) {
      return nowNs + rtoNs;
    }
    resend(slot, nowNs);
    return nowNs + rtoNs;
  }

  private boolean isTailOverdue(long nowNs) {
    return !isTailRepeated
        && inFlightCount > 0
        && inFlightCount <= Math.min(MAX_TAIL_CHUNKS, Math.max(1, slots / 8))
        && nowNs - lastResultNs >= rtt.quietNs()
        && nowNs - lastSentNs >= rtt.answeredNs();
  }

  private void repeatTail(long nowNs) {
    isTailRepeated = true;
    for (int slot = 0; slot < slots; slot++) {
      if (inFlight[slot] != IDLE) {
        resend(slot, nowNs);
      }
    }
  }

  private void probe(long nowNs) {
    if (silent && nowNs - lastProbeNs < rtt.rtoNs()) {
      return;
    }
    silent = true;
    lastProbeNs = nowNs;
    rtt.backOff();
    resend(oldest(), nowNs);
  }

  /**
   * Results flow again: what is still in flight gets one more timeout, as if it had just been sent.
   */
  private void endSilence(long nowNs) {
    silent = false;
    timers.clear();
    for (int slot = 0; slot < slots; slot++) {
      if (inFlight[slot] != IDLE) {
        sentNs[slot] = nowNs;
        repeated[slot] = true;
        timers.arm(slot, nowNs + rtt.rtoNs(), nowNs);
      }
    }
  }

  private void resend(int slot, long nowNs) {
    repeated[slot] = true;
    sentNs[slot] = nowNs;
    retransmissions++;
    order.sent(slot);
    resender.resend(inFlight[slot]);
  }

  private int oldest() {
    int oldest = -1;
    for (int slot = 0; slot < slots; slot++) {
      if (inFlight[slot] != IDLE && (oldest < 0 || inFlight[slot] < inFlight[oldest])) {
        oldest = slot;
      }
    }
    return oldest;
  }
}
