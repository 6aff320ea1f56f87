package dev.sumac.worker;

import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The last two generations of contributions of each slot, as they were sent, for the release policy
 * ACKNOWLEDGED: after a clear another rank may need one again whose result is already here, and
 * whose input may be gone. Not thread-safe.
 */
final class Retained {
  private static final int GENERATIONS = 2;

  private final int mask;
  private final int packetBytes;
  private final UnsafeBuffer packets;
  private final long[] chunks;
  private final int[] lengths;

  Retained(int slots, int packetBytes) {
    int entries = slots * GENERATIONS;
    this.mask = entries - 1;
    this.packetBytes = packetBytes;
    this.packets = new UnsafeBuffer(new byte[Math.multiplyExact(entries, packetBytes)]);
    this.chunks = new long[entries];
    this.lengths = new int[entries];
  }

  void keep(long chunk, DirectBuffer packet, int offset, int lengthBytes) {
    int entry = (int) chunk & mask;
    chunks[entry] = chunk;
    lengths[entry] = lengthBytes;
    packets.putBytes(entry * packetBytes, packet, offset, lengthBytes);
  }

  /** Length of the packet of that chunk, or 0 when it is not here any more. */
  int lengthBytes(long chunk) {
    int entry = (int) chunk & mask;
    return chunks[entry] == chunk ? lengths[entry] : 0;
  }

  DirectBuffer buffer() {
    return packets;
  }

  int offset(long chunk) {
    return ((int) chunk & mask) * packetBytes;
  }
}
