package dev.sumac.worker;

import dev.sumac.protocol.SipHash;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * What the switch granted at admission. Immutable.
 *
 * @param run number of the run
 * @param cookie secret that every packet of the run carries
 * @param job number of the job in the tag
 * @param rank this worker's rank
 * @param worldSize number of ranks
 * @param slots slots on each shard
 * @param elementsPerPacket elements a packet
 * @param firstChunk number of the first packet on each shard
 * @param shards UDP address of each shard
 * @param releasePolicy when the switch may overwrite a result
 * @param authentication what authenticates every packet of the run, or null
 */
record RunParameters(
    int run,
    long cookie,
    int job,
    int rank,
    int worldSize,
    int slots,
    int elementsPerPacket,
    long firstChunk,
    List<InetSocketAddress> shards,
    ReleasePolicy releasePolicy,
    SipHash authentication) {
  /** A run without authentication of packets. */
  RunParameters(
      int run,
      long cookie,
      int job,
      int rank,
      int worldSize,
      int slots,
      int elementsPerPacket,
      long firstChunk,
      List<InetSocketAddress> shards,
      ReleasePolicy releasePolicy) {
    this(
        run,
        cookie,
        job,
        rank,
        worldSize,
        slots,
        elementsPerPacket,
        firstChunk,
        shards,
        releasePolicy,
        null);
  }
}
