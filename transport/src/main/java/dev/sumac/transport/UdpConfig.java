package dev.sumac.transport;

import dev.sumac.reliability.FaultSpec;
import java.net.InetSocketAddress;

/**
 * What an endpoint is opened with. Immutable.
 *
 * @param bind local address; port 0 lets the kernel choose
 * @param receiveBufferBytes what to ask of the kernel (SO_RCVBUF); it may give less
 * @param sendBufferBytes likewise for SO_SNDBUF
 * @param io which of Netty's transports
 * @param faults faults to make on packets that arrive
 * @param threadName name of the endpoint's thread
 */
public record UdpConfig(
    InetSocketAddress bind,
    int receiveBufferBytes,
    int sendBufferBytes,
    Io io,
    FaultSpec faults,
    String threadName) {
  /** SO_RCVBUF unless said otherwise. */
  public static final int DEFAULT_BUFFER_BYTES = 4 << 20;

  /** Netty's transports. */
  public enum Io {
    /** Epoll where its native library loads, else NIO. */
    BEST,
    EPOLL,
    NIO
  }

  /** An endpoint on this address with everything else at its default. */
  public static UdpConfig on(InetSocketAddress bind, String threadName) {
    return new UdpConfig(
        bind, DEFAULT_BUFFER_BYTES, DEFAULT_BUFFER_BYTES, Io.BEST, FaultSpec.NONE, threadName);
  }

  public UdpConfig withFaults(FaultSpec newFaults) {
    return new UdpConfig(bind, receiveBufferBytes, sendBufferBytes, io, newFaults, threadName);
  }

  public UdpConfig withIo(Io newIo) {
    return new UdpConfig(bind, receiveBufferBytes, sendBufferBytes, newIo, faults, threadName);
  }
}
