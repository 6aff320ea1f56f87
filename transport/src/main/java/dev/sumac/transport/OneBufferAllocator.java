package dev.sumac.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;

/**
 * Lends one and the same buffer to every read: listeners are done with a datagram when their call
 * returns, and memory that stays in the processor's cache is worth more than a fresh one. If
 * somebody still holds it, the next read gets a new one. One an endpoint, used on its thread only.
 */
final class OneBufferAllocator extends DefaultMaxMessagesRecvByteBufAllocator {
  private final int bytes;
  private ByteBuf buffer;

  OneBufferAllocator(int bytes) {
    this.bytes = bytes;
  }

  @Override
  @SuppressWarnings("deprecation") // Netty's own interface; its epoll channel asks for this type.
  public Handle newHandle() {
    return new OneBufferHandle();
  }

  /** Gives the buffer back; on the endpoint's thread, when there are no more reads. */
  void release() {
    if (buffer != null) {
      buffer.release();
      buffer = null;
    }
  }

  private final class OneBufferHandle extends MaxMessageHandle {
    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      if (buffer == null || buffer.refCnt() != 1) {
        if (buffer != null) {
          buffer.release();
        }
        buffer = allocator.directBuffer(bytes, bytes);
      }
      return buffer.retain().setIndex(0, 0);
    }

    @Override
    public int guess() {
      return bytes;
    }
  }
}
