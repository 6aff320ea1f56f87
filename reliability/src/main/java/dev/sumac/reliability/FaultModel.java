package dev.sumac.reliability;

import java.util.SplittableRandom;

/**
 * Decides the fate of each packet from a seed: loss, bursts of loss, duplication, reordering by
 * delay, one flipped bit. It only decides; who holds the packets (an endpoint, a simulator) carries
 * it out. Not thread-safe.
 *
 * <pre>
 *   model.next(length);
 *   for (int copy = 0; copy &lt; model.copies(); copy++) deliver after model.delayNs(copy) ...
 * </pre>
 */
public final class FaultModel {
  /** No bit is flipped. */
  public static final int UNDAMAGED = -1;

  private final FaultSpec spec;
  private final SplittableRandom random;
  private final double enterBurst;
  private final double leaveBurst;
  private final long[] delayNs = new long[2];

  private boolean inBurst;
  private int copies;
  private int damagedBit;
  private long lost;
  private long duplicated;
  private long delayed;
  private long damaged;

  public FaultModel(FaultSpec spec) {
    this.spec = spec;
    this.random = new SplittableRandom(spec.seed());
    // Gaps between bursts are one packet long at least: where that and the burst can't both be, the
    // loss counts and bursts get longer.
    this.leaveBurst = Math.min(1 / spec.burst(), (1 - spec.loss()) / spec.loss());
    // Long-run share of time in the lossy state: enter / (enter + leave) = loss.
    this.enterBurst = spec.loss() < 1 ? leaveBurst * spec.loss() / (1 - spec.loss()) : 1;
  }

  /** Decides about the next packet of {@code lengthBytes}. */
  public void next(int lengthBytes) {
    damagedBit = UNDAMAGED;
    delayNs[0] = 0;
    delayNs[1] = 0;
    if (isLost()) {
      copies = 0;
      lost++;
      return;
    }
    copies = 1;
    if (chance(spec.duplicate())) {
      copies = 2;
      delayNs[1] = random.nextLong(spec.delayNs()) + 1;
      duplicated++;
    }
    if (chance(spec.reorder())) {
      delayNs[0] = random.nextLong(spec.delayNs()) + 1;
      delayed++;
    }
    if (lengthBytes > 0 && chance(spec.damage())) {
      damagedBit = random.nextInt(lengthBytes * 8);
      damaged++;
    }
  }

  /** How often the packet arrives: 0, 1 or 2. */
  public int copies() {
    return copies;
  }

  /** How long this copy is held back, ns; 0 for not at all. */
  public long delayNs(int copy) {
    return delayNs[copy];
  }

  /** Which bit of the packet is flipped, or {@link #UNDAMAGED}. */
  public int damagedBit() {
    return damagedBit;
  }

  public long lost() {
    return lost;
  }

  public long duplicated() {
    return duplicated;
  }

  public long delayed() {
    return delayed;
  }

  public long damaged() {
    return damaged;
  }

  private boolean isLost() {
    if (spec.loss() == 0) {
      return false;
    }
    if (spec.burst() == 1) {
      return chance(spec.loss());
    }
    inBurst = inBurst ? !chance(leaveBurst) : chance(enterBurst);
    return inBurst;
  }

  private boolean chance(double probability) {
    return probability > 0 && random.nextDouble() < probability;
  }
}
