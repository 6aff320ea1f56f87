package dev.sumac.simulation;

import dev.sumac.reliability.FaultModel;
import dev.sumac.reliability.FaultSpec;
import java.util.SplittableRandom;

/**
 * One direction of one cable: a propagation delay with jitter, a rate with a queue that overflows,
 * and seeded faults. It only decides when a packet arrives; {@link Node} carries it. Not
 * thread-safe.
 */
final class Link {
  /** The packet does not fit the queue. */
  static final long DROPPED = -1;

  private static final long NS_PER_SECOND = 1_000_000_000;

  private final Spec spec;
  private final FaultModel faults;
  private final SplittableRandom random;
  private long freeAtNs;
  private long blockedUntilNs;

  /**
   * What all links of a simulation are like.
   *
   * @param delayNs propagation delay
   * @param jitterNs up to so much is added to it, for each packet: above the gap between packets it
   *     reorders them
   * @param rateBitsPerSecond or 0 for no limit
   * @param queueBytes what may wait for the link when it has a rate
   */
  record Spec(long delayNs, long jitterNs, long rateBitsPerSecond, long queueBytes) {}

  Link(Spec spec, FaultSpec faultSpec, SplittableRandom random) {
    this.spec = spec;
    this.random = random;
    this.faults = new FaultModel(faultSpec.withSeed(random.nextLong()));
  }

  /** Until then, everything is lost here. */
  void block(long untilNs) {
    blockedUntilNs = untilNs;
  }

  /** Decides about the next packet; ask {@link #faults} for the result. */
  FaultModel next(int lengthBytes) {
    faults.next(lengthBytes);
    return faults;
  }

  boolean isBlocked(long nowNs) {
    return nowNs < blockedUntilNs;
  }

  /** When one copy of a packet that leaves now arrives, or {@link #DROPPED}. */
  long arrivalNs(int lengthBytes, long nowNs) {
    long departsNs = nowNs;
    if (spec.rateBitsPerSecond() > 0) {
      long waitsNs = Math.max(0, freeAtNs - nowNs);
      long queuedBytes = waitsNs * spec.rateBitsPerSecond() / (8 * NS_PER_SECOND);
      if (queuedBytes + lengthBytes > spec.queueBytes()) {
        return DROPPED;
      }
      freeAtNs = nowNs + waitsNs + lengthBytes * 8L * NS_PER_SECOND / spec.rateBitsPerSecond();
      departsNs = freeAtNs;
    }
    long jitterNs = spec.jitterNs() == 0 ? 0 : random.nextLong(spec.jitterNs());
    return departsNs + spec.delayNs() + jitterNs;
  }
}
