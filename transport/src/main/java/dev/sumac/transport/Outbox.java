package dev.sumac.transport;

import org.agrona.MutableDirectBuffer;

/**
 * Packets on their way to one receiver, or to several that get the same bytes. Packets are written
 * in place and gathered: neighbours of one size leave as one segmented datagram. Used from the
 * endpoint's thread only.
 *
 * <pre>
 *   int at = outbox.claim(bytes);
 *   header.start(outbox.buffer(), at, ...);
 *   outbox.commit();
 * </pre>
 */
public interface Outbox {
  /** Makes room for a packet and says where it begins in {@link #buffer()}. */
  int claim(int packetBytes);

  /** Where the claimed packet is to be written; another buffer after each {@link #claim}. */
  MutableDirectBuffer buffer();

  /**
   * The claimed packet is complete. It leaves when its batch is full or the endpoint's turn ends.
   */
  void commit();
}
