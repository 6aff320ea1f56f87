package dev.sumac.transport;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One UDP socket and the one thread that serves it. The listener and all outboxes are used on that
 * thread only; {@link #execute}, {@link #wakeUp}, {@link #close} and the getters may be called from
 * any thread.
 *
 * <p>With epoll, datagrams arrive through UDP_GRO (many packets in one read) and leave through
 * UDP_SEGMENT (many packets in one write): on the machine it was measured on worth a factor of 8
 * (docs/architecture.md).
 */
public final class UdpEndpoint implements PacketNetwork, AutoCloseable {
  /** Time between two turns while time matters to the listener and things happen. */
  public static final long TICK_NS = 1_000_000;

  /**
   * Longest time between two turns while time matters, when nothing has happened for a while:
   * waiting must be cheap.
   */
  public static final long MAX_TICK_NS = 25_000_000;

  private static final int QUIET_TICKS = 40;

  private static final Logger LOG = LoggerFactory.getLogger(UdpEndpoint.class);
  private static final int MAX_DATAGRAM_BYTES = 65_536;
  private static final int DATAGRAMS_PER_READ = 2;
  private static final int PACKETS_PER_CLOCK_READ = 32;

  private final EventLoopGroup group;
  private final EventLoop loop;
  private final DatagramChannel channel;
  private final List<SegmentingOutbox> dirty = new ArrayList<>();
  private final ArrayDeque<ByteBuf> idleBatches = new ArrayDeque<>();
  private final OneBufferAllocator readBuffer;
  private final AtomicLong sendErrors = new AtomicLong();
  private final DatagramListener listener;
  private final boolean segmentation;
  private final int receiveBufferBytes;
  private final Runnable turn = this::turn;
  private final Runnable tick = this::tick;
  private final Object gate = new Object();
  private boolean isClosed;
  private boolean isTickDue;
  private int quietTicks;

  private UdpEndpoint(UdpConfig config, Function<UdpEndpoint, DatagramListener> listenerOf)
      throws IOException {
    boolean epoll = useEpoll(config.io());
    IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    group =
        new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory(config.threadName(), true), io);
    segmentation = epoll && EpollDatagramChannel.isSegmentedDatagramPacketSupported();
    readBuffer =
        new OneBufferAllocator(
            epoll ? DATAGRAMS_PER_READ * MAX_DATAGRAM_BYTES : MAX_DATAGRAM_BYTES);
    try {
      channel = bind(config, epoll);
    } catch (Throwable e) {
      group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
      throw e;
    }
    loop = channel.eventLoop();
    receiveBufferBytes = givenBufferBytes(config, epoll);
    DatagramListener plain = listenerOf.apply(this);
    listener = config.faults().isNone() ? plain : new FaultyListener(config.faults(), plain);
    channel.config().setAutoRead(true);
  }

  /**
   * Opens a socket.
   *
   * @param listenerOf makes the listener; it may keep the endpoint, and gets datagrams once {@code
   *     open} has returned
   * @throws IOException when the address can't be bound; the message names it
   */
  public static UdpEndpoint open(
      UdpConfig config, Function<UdpEndpoint, DatagramListener> listenerOf) throws IOException {
    return new UdpEndpoint(config, listenerOf);
  }

  /** Where the socket is bound, with the port that the kernel chose. */
  public InetSocketAddress localAddress() {
    return channel.localAddress();
  }

  /** Receive buffer that the kernel gave, in bytes of its own accounting halved (socket(7)). */
  public int receiveBufferBytes() {
    return receiveBufferBytes;
  }

  /**
   * Datagrams that the kernel dropped because the receive buffer was full, or -1 where it does not
   * say.
   */
  public long kernelDrops() {
    return KernelDrops.ofPort(localAddress().getPort());
  }

  /** Sends that the kernel refused. */
  public long sendErrors() {
    return sendErrors.get();
  }

  /**
   * Runs a task on the endpoint's thread, as a turn of its own.
   *
   * @return false when the endpoint is closed, so that the task will not run
   */
  public boolean execute(Runnable task) {
    return runOnLoop(
        () -> {
          task.run();
          turn();
        });
  }

  /**
   * Makes a turn soon.
   *
   * @return false when the endpoint is closed
   */
  public boolean wakeUp() {
    return runOnLoop(turn);
  }

  @Override
  public Outbox outbox(List<InetSocketAddress> receivers) {
    return new SegmentingOutbox(channel, receivers, segmentation, dirty, idleBatches);
  }

  /**
   * Closes the socket and ends the thread; returns at once, or when both are done if called from
   * another thread.
   */
  @Override
  public void close() {
    synchronized (gate) {
      runOnLoop(this::release);
      isClosed = true;
    }
    var ended = group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    if (!loop.inEventLoop()) {
      ended.awaitUninterruptibly(2, TimeUnit.SECONDS);
    }
  }

  /**
   * Every task that is taken is in the event loop's queue before its shutdown begins. Without the
   * gate one could slip in behind the loop's last look: Netty's queue can't take it back, so it
   * would neither run nor be refused.
   */
  private boolean runOnLoop(Runnable task) {
    synchronized (gate) {
      if (isClosed) {
        return false;
      }
      loop.execute(task);
      return true;
    }
  }

  private void release() {
    channel.close();
    readBuffer.release();
    idleBatches.forEach(ByteBuf::release);
    idleBatches.clear();
  }

  private void turn() {
    quietTicks = 0;
    boolean timeMatters = listener.onTurn(System.nanoTime());
    flush();
    if (timeMatters && !isTickDue) {
      scheduleTick();
    }
  }

  private void tick() {
    isTickDue = false;
    quietTicks++;
    boolean timeMatters = listener.onTurn(System.nanoTime());
    flush();
    if (timeMatters) {
      scheduleTick();
    }
  }

  private void scheduleTick() {
    isTickDue = true;
    loop.schedule(tick, quietTicks < QUIET_TICKS ? TICK_NS : MAX_TICK_NS, TimeUnit.NANOSECONDS);
  }

  private void flush() {
    for (int i = 0; i < dirty.size(); i++) {
      dirty.get(i).send();
    }
    dirty.clear();
  }

  private DatagramChannel bind(UdpConfig config, boolean epoll) throws IOException {
    SocketProtocolFamily family =
        config.bind().getAddress() instanceof Inet6Address
            ? SocketProtocolFamily.INET6
            : SocketProtocolFamily.INET;
    ChannelFactory<Channel> factory =
        epoll ? () -> new EpollDatagramChannel(family) : () -> new NioDatagramChannel(family);
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channelFactory(factory)
            .option(ChannelOption.AUTO_READ, false)
            .option(ChannelOption.SO_RCVBUF, config.receiveBufferBytes())
            .option(ChannelOption.SO_SNDBUF, config.sendBufferBytes())
            .option(ChannelOption.RECVBUF_ALLOCATOR, readBuffer)
            .handler(new Receiver());
    if (epoll) {
      bootstrap.option(EpollChannelOption.UDP_GRO, true);
      // Reading several datagrams at a time (recvmmsg), Netty hands over each as the kernel joined
      // it, instead of cutting
      // it into one object a packet. The listener walks it by the packets' own lengths, so either
      // way is right.
      bootstrap.option(EpollChannelOption.MAX_DATAGRAM_PAYLOAD_SIZE, MAX_DATAGRAM_BYTES);
    }
    var bound = bootstrap.bind(config.bind()).awaitUninterruptibly();
    if (!bound.isSuccess()) {
      throw new IOException(
          "UDP port "
              + config.bind().getPort()
              + " on "
              + config.bind().getHostString()
              + " can't be bound: "
              + bound.cause().getMessage(),
          bound.cause());
    }
    return (DatagramChannel) bound.channel();
  }

  private int givenBufferBytes(UdpConfig config, boolean epoll) {
    int reported = channel.config().getReceiveBufferSize();
    // Linux grants a buffer twice as large to make room for its own book-keeping, and reports that
    // (socket(7)). The JDK's
    // own sockets halve the report, Netty's epoll sockets do not.
    int given = epoll ? reported / 2 : reported;
    if (given < config.receiveBufferBytes()) {
      LOG.warn(
          "UDP receive buffer is {} B, {} B were asked: bursts may be dropped. To allow more: sysctl -w"
              + " net.core.rmem_max={}",
          given,
          config.receiveBufferBytes(),
          config.receiveBufferBytes());
    }
    return given;
  }

  private static boolean useEpoll(UdpConfig.Io io) throws IOException {
    if (io == UdpConfig.Io.EPOLL && !Epoll.isAvailable()) {
      throw new IOException("epoll is not available: " + Epoll.unavailabilityCause().getMessage());
    }
    return io != UdpConfig.Io.NIO && Epoll.isAvailable();
  }

  /** Hands Netty's datagrams to the listener. */
  private final class Receiver extends ChannelInboundHandlerAdapter {
    private final UnsafeBuffer view = new UnsafeBuffer(0, 0);
    private int untilClockRead;
    private long nowNs;

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      DatagramPacket packet = (DatagramPacket) message;
      try {
        if (untilClockRead-- == 0) {
          nowNs = System.nanoTime();
          untilClockRead = PACKETS_PER_CLOCK_READ;
        }
        int length = packet.content().readableBytes();
        ByteBuffer bytes =
            packet.content().internalNioBuffer(packet.content().readerIndex(), length);
        if (bytes.isDirect()) {
          view.wrap(bytes, bytes.position(), length);
        } else {
          view.wrap(bytes.array(), bytes.arrayOffset() + bytes.position(), length);
        }
        listener.onDatagram(view, 0, length, packet.sender(), nowNs);
      } finally {
        packet.release();
      }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
      untilClockRead = 0;
      turn();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      if (cause instanceof IOException) {
        // The kernel refused one send or reported an ICMP error: the socket goes on, retransmission
        // covers it.
        if (sendErrors.getAndIncrement() == 0) {
          LOG.warn(
              "the kernel refused a datagram ({}); if packets are larger than the MTU, use fewer elements a packet",
              cause.getMessage());
        }
      } else {
        LOG.error("endpoint {} failed on a packet", localAddress(), cause);
      }
    }
  }
}
