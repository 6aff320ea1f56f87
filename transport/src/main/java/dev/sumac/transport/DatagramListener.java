package dev.sumac.transport;

import java.net.InetSocketAddress;
import org.agrona.DirectBuffer;

/** Takes what an endpoint receives. All calls come from the endpoint's one thread. */
public interface DatagramListener {
  /**
   * One datagram, or several that the kernel put together: the bytes hold one packet after the
   * other.
   *
   * @param buffer valid during the call only
   * @param offset where the datagram begins
   * @param lengthBytes its length
   * @param source who sent it
   * @param nowNs time of arrival on the endpoint's monotonic clock, ns
   */
  void onDatagram(
      DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs);

  /**
   * The end of a turn: a batch of datagrams has been handed over, somebody has called {@link
   * UdpEndpoint#wakeUp}, or a tick has passed. What was written to outboxes leaves when this
   * returns.
   *
   * @return whether time matters to the listener: the next turn then comes after {@link
   *     UdpEndpoint#TICK_NS} even if nothing arrives, or, when nothing has arrived for a while,
   *     after {@link UdpEndpoint#MAX_TICK_NS}
   */
  boolean onTurn(long nowNs);
}
