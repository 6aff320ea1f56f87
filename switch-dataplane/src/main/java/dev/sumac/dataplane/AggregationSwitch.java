package dev.sumac.dataplane;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.transport.UdpConfig;
import dev.sumac.transport.UdpEndpoint;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running switch: its shards with their sockets and threads, the control channel, and the one
 * control thread between. {@link #close} and the getters may be called from any thread.
 */
public final class AggregationSwitch implements AutoCloseable, SwitchCore.Shell {
  private static final Logger LOG = LoggerFactory.getLogger(AggregationSwitch.class);
  private static final long KEEP_ALIVE_SECONDS = 2;
  private static final long TICK_SECONDS = 1;
  private static final long HANDSHAKE_SECONDS = 5;
  private static final long IDLE_CONNECTION_SECONDS = 30;
  private static final int MAX_STREAMS_OF_A_CONNECTION = 64;
  private static final int MAX_CONTROL_MESSAGE_BYTES = 16_384;

  private final SwitchConfig config;
  private final long boot = System.currentTimeMillis();
  private final List<UdpEndpoint> endpoints = new ArrayList<>();
  private final List<Long> shardThreads = new ArrayList<>();
  private final DropReport drops = new DropReport();
  private final ScheduledExecutorService control =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "sumac-control");
            thread.setDaemon(true);
            return thread;
          });
  private final SwitchCore core;
  private final Server server;

  private AggregationSwitch(SwitchConfig config) throws IOException {
    this.config = config;
    this.core = new SwitchCore(config, new SecureRandom(), this);
    try {
      openShards();
      core.open(boot, endpoints.get(0).receiveBufferBytes(), shardPorts());
      server = startServer();
      control.scheduleAtFixedRate(this::onTick, TICK_SECONDS, TICK_SECONDS, TimeUnit.SECONDS);
    } catch (Throwable e) {
      endpoints.forEach(UdpEndpoint::close);
      control.shutdownNow();
      throw e;
    }
    LOG.info(
        "switch listens on {}:{} (TCP control), UDP {}; {} shards x {} slots x {} elements = {} B of slot memory",
        config.bind().getHostAddress(),
        port(),
        shardPorts(),
        config.shards(),
        config.slots(),
        config.elementsPerPacket(),
        config.slotBytes());
  }

  /**
   * Starts a switch; it takes joins when this returns.
   *
   * @throws IOException when a port can't be bound, with one line that names it
   */
  public static AggregationSwitch start(SwitchConfig config) throws IOException {
    return new AggregationSwitch(config);
  }

  /** TCP port of the control channel. */
  public int port() {
    return server.getPort();
  }

  /** UDP ports of the shards, in their order. */
  public List<Integer> shardPorts() {
    List<Integer> ports = new ArrayList<>();
    endpoints.forEach(endpoint -> ports.add(endpoint.localAddress().getPort()));
    return ports;
  }

  /** What a counter stands at, summed over shards. */
  public long count(Counter counter) {
    return core.count(counter);
  }

  /** Slots of each shard that no run has. */
  public int freeSlots() {
    CompletableFuture<Integer> answer = new CompletableFuture<>();
    onControl(() -> answer.complete(core.freeSlots()));
    return answer.join();
  }

  /** Waits until the switch has been closed. */
  public void awaitClosed() throws InterruptedException {
    server.awaitTermination();
  }

  /**
   * Ends every run, tells its ranks, and gives back ports and threads. Harmless when called again.
   */
  @Override
  public void close() {
    onControl(core::stop);
    server.shutdown();
    try {
      if (!server.awaitTermination(500, TimeUnit.MILLISECONDS)) {
        server.shutdownNow().awaitTermination(500, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      server.shutdownNow();
      Thread.currentThread().interrupt();
    }
    endpoints.forEach(UdpEndpoint::close);
    control.shutdown();
  }

  private void onTick() {
    core.onTick(System.nanoTime());
    drops.onTick(this::count, LOG::info);
  }

  @Override
  public void onControl(Runnable task) {
    try {
      control.execute(task);
    } catch (RejectedExecutionException e) {
      LOG.debug("the switch is closed already", e);
    }
  }

  @Override
  public void wakeShard(int shard) {
    endpoints.get(shard).wakeUp();
  }

  private void openShards() throws IOException {
    for (int i = 0; i < config.shards(); i++) {
      InetSocketAddress address =
          new InetSocketAddress(config.bind(), config.port() == 0 ? 0 : config.port() + i);
      UdpConfig udp =
          new UdpConfig(
              address,
              config.receiveBufferBytes(),
              UdpConfig.DEFAULT_BUFFER_BYTES,
              config.io(),
              config.faults().withSeed(config.faults().seed() + i),
              "sumac-shard-" + i);
      endpoints.add(UdpEndpoint.open(udp, core::addShard));
      endpoints
          .get(i)
          .execute(
              () -> {
                synchronized (shardThreads) {
                  shardThreads.add(currentThreadId());
                }
              });
    }
  }

  @SuppressWarnings("deprecation") // Thread.threadId() came with 19.
  private static long currentThreadId() {
    return Thread.currentThread().getId();
  }

  private Server startServer() throws IOException {
    InetSocketAddress address = new InetSocketAddress(config.bind(), config.port());
    Server built =
        NettyServerBuilder.forAddress(address, config.tls().serverCredentials())
            .handshakeTimeout(HANDSHAKE_SECONDS, TimeUnit.SECONDS)
            .maxConnectionIdle(IDLE_CONNECTION_SECONDS, TimeUnit.SECONDS)
            .maxConcurrentCallsPerConnection(MAX_STREAMS_OF_A_CONNECTION)
            .executor(control)
            .maxInboundMessageSize(MAX_CONTROL_MESSAGE_BYTES)
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(1, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .intercept(new PeerInterceptor())
            .addService(new ControlService(core, this::status))
            .build();
    try {
      return built.start();
    } catch (IOException e) {
      throw new IOException(
          "TCP port "
              + config.port()
              + " on "
              + config.bind().getHostAddress()
              + " can't be bound: "
              + rootMessage(e),
          e);
    }
  }

  private static String rootMessage(Throwable e) {
    Throwable root = e;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.getMessage();
  }

  private StatusReply status() {
    StatusReply.Builder reply =
        StatusReply.newBuilder()
            .setBoot(boot)
            .setResidentBytes(residentBytes())
            .setSlotBytes(config.slotBytes())
            .setSlotsTotal(config.slots())
            .setSlotsFree(core.freeSlots())
            .setAllocatedBytes(allocatedBytes())
            .setPacketsIn(count(Counter.PACKETS_IN))
            .setCpuNs(
                ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                    .getProcessCpuTime())
            .addAllJobs(core.status());
    for (Counter counter : Counter.values()) {
      reply.putCounters(counter.label(), count(counter));
    }
    long drops = endpoints.stream().mapToLong(UdpEndpoint::kernelDrops).sum();
    reply.putCounters("kernel-drops", Math.max(0, drops));
    reply.putCounters("control-streams", core.streams());
    reply.putCounters("pending-joins", core.pendingJoins());
    reply.putCounters("send-errors", endpoints.stream().mapToLong(UdpEndpoint::sendErrors).sum());
    return reply.build();
  }

  private long allocatedBytes() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long sum = 0;
    synchronized (shardThreads) {
      for (long thread : shardThreads) {
        sum += threads.getThreadAllocatedBytes(thread);
      }
    }
    return sum;
  }

  /** Resident set size from proc(5), or 0 where there is no /proc. */
  private static long residentBytes() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith("VmRSS:")) {
          return Long.parseLong(line.replaceAll("\\D", "")) * 1_024;
        }
      }
    } catch (IOException e) {
      LOG.debug("no /proc/self/status", e);
    }
    return 0;
  }

  /** Keeps the caller's address for the time of a call. */
  private static final class PeerInterceptor implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      Object remote = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
      String peer =
          remote instanceof InetSocketAddress address
              ? address.getAddress().getHostAddress() + ":" + address.getPort()
              : String.valueOf(remote);
      return Contexts.interceptCall(
          Context.current().withValue(ControlService.PEER, peer), call, headers, next);
    }
  }
}
