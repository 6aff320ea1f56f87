package dev.sumac.dataplane;

/** When a result may be overwritten; {@link SlotPool} tells how each works. */
public enum ReleasePolicy {
  /** When every rank has contributed to the slot's other version (SwitchML section 3.5). */
  TWO_VERSION,
  /**
   * When every rank has acknowledged it; if acknowledgements are missing, all results are given up
   * and repeated.
   */
  ACKNOWLEDGED
}
