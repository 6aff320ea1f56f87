package dev.sumac.worker;

/**
 * When the switch may overwrite a result; all ranks of a job must ask for the same.
 * docs/architecture.md compares them.
 */
public enum ReleasePolicy {
  /** SwitchML's two versions of each slot. The default. */
  TWO_VERSION,
  /**
   * Results are held until acknowledged; costs a packet for each chunk and a copy of each
   * contribution.
   */
  ACKNOWLEDGED
}
