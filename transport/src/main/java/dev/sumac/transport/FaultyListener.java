package dev.sumac.transport;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.reliability.FaultModel;
import dev.sumac.reliability.FaultSpec;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Carries out a fault model's verdicts in front of another listener. For tests and demonstrations:
 * it copies packets.
 */
final class FaultyListener implements DatagramListener {
  private final FaultModel faults;
  private final DatagramListener next;
  private final PriorityQueue<Held> held =
      new PriorityQueue<>(Comparator.comparingLong(Held::dueNs).thenComparingLong(Held::arrival));
  private long arrivals;

  /** A packet that is held back. */
  private record Held(long dueNs, long arrival, DirectBuffer bytes, InetSocketAddress source) {}

  FaultyListener(FaultSpec spec, DatagramListener next) {
    this.faults = new FaultModel(spec);
    this.next = next;
  }

  /** The kernel may have joined several packets; a network would lose each by itself. */
  @Override
  public void onDatagram(
      DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
    int at = offset;
    int end = offset + lengthBytes;
    while (at < end) {
      int packetBytes = AggregationHeader.firstPacketBytes(buffer, at, end - at);
      onPacket(buffer, at, packetBytes, source, nowNs);
      at += packetBytes;
    }
    release(nowNs);
  }

  private void onPacket(
      DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
    faults.next(lengthBytes);
    for (int copy = 0; copy < faults.copies(); copy++) {
      if (faults.delayNs(copy) == 0 && faults.damagedBit() == FaultModel.UNDAMAGED) {
        next.onDatagram(buffer, offset, lengthBytes, source, nowNs);
      } else {
        byte[] bytes = new byte[lengthBytes];
        buffer.getBytes(offset, bytes);
        if (faults.damagedBit() != FaultModel.UNDAMAGED) {
          bytes[faults.damagedBit() / 8] ^= (byte) (1 << faults.damagedBit() % 8);
        }
        held.add(
            new Held(nowNs + faults.delayNs(copy), arrivals++, new UnsafeBuffer(bytes), source));
      }
    }
  }

  @Override
  public boolean onTurn(long nowNs) {
    release(nowNs);
    return next.onTurn(nowNs) || !held.isEmpty();
  }

  private void release(long nowNs) {
    while (!held.isEmpty() && held.peek().dueNs() <= nowNs) {
      Held packet = held.poll();
      next.onDatagram(packet.bytes(), 0, packet.bytes().capacity(), packet.source(), nowNs);
    }
  }
}
