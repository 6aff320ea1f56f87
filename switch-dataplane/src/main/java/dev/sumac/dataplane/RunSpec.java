package dev.sumac.dataplane;

import dev.sumac.protocol.SipHash;
import dev.sumac.protocol.Tag;

/**
 * What a shard needs to know of one run of a job. Immutable.
 *
 * @param job number of the job in the tag
 * @param run number of the run, never used twice by one switch process
 * @param cookie secret that every packet of the run carries
 * @param worldSize number of ranks
 * @param slots slots on each shard, a power of two
 * @param elements most elements a packet
 * @param policy when results are released
 * @param firstChunk number of the first chunk on each shard
 * @param authentication what authenticates every packet of the run, or null
 */
record RunSpec(
    int job,
    int run,
    long cookie,
    int worldSize,
    int slots,
    int elements,
    ReleasePolicy policy,
    long firstChunk,
    SipHash authentication) {
  /** A run without authentication of packets. */
  RunSpec(
      int job,
      int run,
      long cookie,
      int worldSize,
      int slots,
      int elements,
      ReleasePolicy policy,
      long firstChunk) {
    this(job, run, cookie, worldSize, slots, elements, policy, firstChunk, null);
  }

  /** The flow of the run's packets of one collective. */
  int flow(int collective) {
    return Tag.flow(Tag.word(job, 0, collective, 0, 0));
  }
}
