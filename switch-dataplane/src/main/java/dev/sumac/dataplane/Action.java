package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import java.net.InetSocketAddress;
import org.agrona.DirectBuffer;

/**
 * What a flow entry does with a packet. An aggregation program is one; so is the proof of
 * addresses. Called on the shard's thread.
 */
@FunctionalInterface
interface Action {
  /**
   * Does it.
   *
   * @param packet a well-formed packet, valid during the call
   * @param buffer the buffer that it lies in
   * @param source who sent it; may be anybody
   */
  void apply(AggregationHeader packet, DirectBuffer buffer, InetSocketAddress source);
}
