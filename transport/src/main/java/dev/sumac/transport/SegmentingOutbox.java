package dev.sumac.transport;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.unix.SegmentedDatagramPacket;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Gathers packets of one size into one buffer and hands it to Netty: as one segmented datagram for
 * each receiver where the kernel segments (UDP_SEGMENT), else packet by packet. All receivers share
 * the one copy of the bytes. Not thread-safe.
 *
 * <p>A segmented datagram is cut by the kernel into equal pieces, of which only the last may be
 * shorter: a shorter packet closes the batch, a longer one starts the next.
 */
final class SegmentingOutbox implements Outbox {
  private static final int BATCH_BYTES = 65_507;
  // The kernel's limit is 128 since 6.9 and was 64 before.
  private static final int MAX_SEGMENTS = 64;
  private static final int MAX_IDLE_BATCHES = 4;

  private final Channel channel;
  private final InetSocketAddress[] receivers;
  private final boolean segmentation;
  private final List<SegmentingOutbox> dirty;
  private final ArrayDeque<ByteBuf> idleBatches;
  private final UnsafeBuffer view = new UnsafeBuffer(0, 0);

  private ByteBuf batch;
  private int segmentBytes;
  private int segments;
  private int filledBytes;
  private int claimedBytes;
  private boolean isDirty;

  SegmentingOutbox(
      Channel channel,
      List<InetSocketAddress> receivers,
      boolean segmentation,
      List<SegmentingOutbox> dirty,
      ArrayDeque<ByteBuf> idleBatches) {
    this.channel = channel;
    this.receivers = receivers.toArray(new InetSocketAddress[0]);
    this.segmentation = segmentation;
    this.dirty = dirty;
    this.idleBatches = idleBatches;
  }

  @Override
  public int claim(int packetBytes) {
    if (segments > 0 && (packetBytes > segmentBytes || filledBytes + packetBytes > BATCH_BYTES)) {
      write();
    }
    if (batch == null) {
      batch =
          idleBatches.isEmpty()
              ? channel.alloc().directBuffer(BATCH_BYTES, BATCH_BYTES)
              : idleBatches.pop();
      ByteBuffer bytes = batch.internalNioBuffer(0, BATCH_BYTES);
      view.wrap(bytes, bytes.position(), BATCH_BYTES);
    }
    if (segments == 0) {
      segmentBytes = packetBytes;
    }
    claimedBytes = packetBytes;
    return filledBytes;
  }

  @Override
  public MutableDirectBuffer buffer() {
    return view;
  }

  @Override
  public void commit() {
    filledBytes += claimedBytes;
    segments++;
    if (!isDirty) {
      isDirty = true;
      dirty.add(this);
    }
    if (segments == MAX_SEGMENTS
        || claimedBytes < segmentBytes
        || filledBytes + segmentBytes > BATCH_BYTES) {
      write();
    }
  }

  /** Hands over what is gathered, at the end of the endpoint's turn. */
  void send() {
    isDirty = false;
    write();
  }

  private void write() {
    if (segments == 0) {
      return;
    }
    for (InetSocketAddress receiver : receivers) {
      if (segmentation || segments == 1) {
        ByteBuf bytes = batch.retainedSlice(0, filledBytes);
        channel.write(
            segments == 1
                ? new DatagramPacket(bytes, receiver)
                : new SegmentedDatagramPacket(bytes, segmentBytes, receiver),
            channel.voidPromise());
      } else {
        for (int at = 0; at < filledBytes; at += segmentBytes) {
          channel.write(
              new DatagramPacket(
                  batch.retainedSlice(at, Math.min(segmentBytes, filledBytes - at)), receiver),
              channel.voidPromise());
        }
      }
    }
    segments = 0;
    filledBytes = 0;
    channel.flush();
    // Mostly the socket has taken everything, and the memory is still in the cache; else Netty
    // holds the bytes until it has.
    if (batch.refCnt() == 1 && idleBatches.size() < MAX_IDLE_BATCHES) {
      idleBatches.push(batch);
    } else {
      batch.release();
    }
    batch = null;
  }
}
