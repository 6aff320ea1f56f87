package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.transport.Outbox;
import dev.sumac.transport.PacketNetwork;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** A network that keeps what is sent, for tests. */
final class RecordingNetwork implements PacketNetwork {
  /** One packet and who gets it. */
  record Sent(List<InetSocketAddress> receivers, DirectBuffer bytes) {
    AggregationHeader header() {
      AggregationHeader header = new AggregationHeader();
      header.check(bytes, 0, bytes.capacity());
      return header;
    }

    int element(int index) {
      return bytes.getInt(
          AggregationHeader.HEADER_BYTES + 4 * index, java.nio.ByteOrder.LITTLE_ENDIAN);
    }
  }

  final List<Sent> sent = new ArrayList<>();
  boolean keeps = true;

  @Override
  public Outbox outbox(List<InetSocketAddress> receivers) {
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[AggregationHeader.MAX_DATAGRAM_BYTES]);
    return new Outbox() {
      private int claimed;

      @Override
      public int claim(int packetBytes) {
        claimed = packetBytes;
        return 0;
      }

      @Override
      public MutableDirectBuffer buffer() {
        return buffer;
      }

      @Override
      public void commit() {
        if (keeps) {
          byte[] copy = new byte[claimed];
          buffer.getBytes(0, copy);
          sent.add(new Sent(receivers, new UnsafeBuffer(copy)));
        }
      }
    };
  }

  /** What has been sent since the last call. */
  List<Sent> take() {
    List<Sent> taken = List.copyOf(sent);
    sent.clear();
    return taken;
  }
}
