package dev.sumac.reliability;

/**
 * Round-trip estimate and retransmission timeout as RFC 6298 computes them, with bounds that suit a
 * machine room. Times in nanoseconds. Not thread-safe.
 *
 * <p>Differences from the RFC: the floor is an argument (1 ms by default, SwitchML's own timer)
 * instead of 1 s, and so are the first timeout and the ceiling. Samples must not come from chunks
 * that were sent more than once (Karn).
 */
public final class RttEstimator {
  /**
   * Floor of the timeout unless said otherwise: below it, a worker that lost its processor looks
   * like loss.
   */
  public static final long DEFAULT_MIN_RTO_NS = 1_000_000;

  /**
   * Ceiling of the timeout, back-off included: a worker that was long alone asks again at least
   * this often.
   */
  public static final long DEFAULT_MAX_RTO_NS = 50_000_000;

  /** Ceiling of the timeout without back-off: no round trip in a machine room takes longer. */
  public static final long MAX_ESTIMATE_NS = 20_000_000;

  /** Clock granularity G of the RFC: timers are looked at once a millisecond. */
  private static final long GRANULARITY_NS = 1_000_000;

  private static final long FIRST_RTO_NS = 20_000_000;

  private final long minRtoNs;
  private final long maxRtoNs;
  private long smoothedNs = -1;
  private long variationNs;
  private long rtoNs;
  private int backoff;

  public RttEstimator() {
    this(DEFAULT_MIN_RTO_NS, DEFAULT_MAX_RTO_NS);
  }

  public RttEstimator(long minRtoNs, long maxRtoNs) {
    if (minRtoNs < 1 || maxRtoNs < minRtoNs) {
      throw new IllegalArgumentException("timeout bounds " + minRtoNs + " to " + maxRtoNs + " ns");
    }
    this.minRtoNs = minRtoNs;
    this.maxRtoNs = maxRtoNs;
    this.rtoNs = clamp(FIRST_RTO_NS);
  }

  /** A chunk that was sent once was answered after {@code rttNs}. Ends a back-off. */
  public void sample(long rttNs) {
    if (smoothedNs < 0) {
      smoothedNs = rttNs;
      variationNs = rttNs / 2;
    } else {
      long sampleNs = Math.min(rttNs, 2 * smoothedNs + GRANULARITY_NS);
      variationNs += (Math.abs(smoothedNs - sampleNs) - variationNs) / 4;
      smoothedNs += (sampleNs - smoothedNs) / 8;
    }
    rtoNs = clamp(smoothedNs + Math.max(GRANULARITY_NS, 4 * variationNs));
    backoff = 0;
  }

  /** Nothing was answered for a whole timeout: the next one is twice as long (RFC 6298, 5.5). */
  public void backOff() {
    if (rtoNs << backoff < maxRtoNs) {
      backoff++;
    }
  }

  /**
   * An answer came, if only to a chunk that was sent twice: the back-off ends, the estimate stays.
   */
  public void endBackOff() {
    backoff = 0;
  }

  /** Retransmission timeout, back-off included. */
  public long rtoNs() {
    return Math.min(rtoNs << backoff, maxRtoNs);
  }

  /** How long no result comes before a stream of them counts as interrupted: half a round trip. */
  public long quietNs() {
    return earlyNs(smoothedNs / 2);
  }

  /** When a chunk should have been answered: one and a half round trips after it was sent. */
  public long answeredNs() {
    return earlyNs(smoothedNs + smoothedNs / 2);
  }

  /** Twice the floor at least; never before the first sample. */
  private long earlyNs(long ns) {
    return smoothedNs < 0 ? Long.MAX_VALUE : Math.max(2 * minRtoNs, ns);
  }

  /** Smoothed round-trip time, or -1 before the first sample. */
  public long smoothedNs() {
    return smoothedNs;
  }

  private long clamp(long ns) {
    return Math.max(minRtoNs, Math.min(Math.min(maxRtoNs, MAX_ESTIMATE_NS), ns));
  }
}
