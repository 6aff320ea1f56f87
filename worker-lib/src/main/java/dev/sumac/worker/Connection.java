package dev.sumac.worker;

import dev.sumac.transport.ControlProbe;
import dev.sumac.transport.UdpConfig;
import dev.sumac.transport.UdpEndpoint;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A {@link Membership} with what it runs on: a UDP socket with its thread, and a control stream.
 * Thread-safe.
 */
final class Connection implements AutoCloseable {
  private static final long GUARD_MS = 400;

  private final CommunicatorConfig config;
  private Membership membership;
  private final CompletableFuture<String> probed;
  private final UdpEndpoint endpoint;
  private ControlClient control;

  private Connection(CommunicatorConfig config) throws IOException {
    this.config = config;
    InetAddress switchAddress = resolve(config);
    endpoint =
        UdpEndpoint.open(
            udpConfig(switchAddress),
            udp -> membership = new Membership(config, switchAddress, udp, this::whyNoAnswer));
    probed =
        CompletableFuture.supplyAsync(
            this::probe,
            CompletableFuture.delayedExecutor(config.timeoutNs() / 2, TimeUnit.NANOSECONDS));
  }

  /** Joins and waits for the other ranks, within the time limit; see {@link Communicator#open}. */
  static Connection open(CommunicatorConfig config) {
    try {
      Connection connection = new Connection(config);
      try {
        connection.join();
      } catch (IOException | RuntimeException e) {
        connection.close();
        throw e;
      }
      return connection;
    } catch (IOException e) {
      throw new JoinException(e.getMessage(), e);
    }
  }

  Membership membership() {
    return membership;
  }

  UdpEndpoint endpoint() {
    return endpoint;
  }

  /**
   * Leaves the run; returns when the others can do without this rank, or its connection is gone.
   */
  void leave() {
    CompletableFuture<Boolean> stays = new CompletableFuture<>();
    if (!endpoint.execute(() -> stays.complete(membership.leave()))) {
      return; // Closed before.
    }
    try {
      if (stays.get(1, TimeUnit.SECONDS)) {
        control.awaitEnd(config.timeoutNs());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      throw new SumacException("the endpoint's thread does not answer", e);
    }
  }

  /** Gives back the stream, the socket and the thread. */
  @Override
  public void close() {
    endpoint.execute(membership::end);
    if (control != null) {
      control.close();
    }
    endpoint.close();
  }

  private void join() throws IOException {
    control =
        new ControlClient(
            config,
            message -> endpoint.execute(() -> membership.onMessage(message)),
            reason -> endpoint.execute(() -> membership.onCallEnd(reason)));
    endpoint.execute(() -> membership.begin(control, System.nanoTime()));
    // The membership keeps the time limit; this one is for the case that its thread does not run.
    long guardNs =
        config.timeoutNs() + config.timeoutNs() / 10 + TimeUnit.MILLISECONDS.toNanos(GUARD_MS);
    try {
      membership.started().get(guardNs, TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof SumacException failure
          ? failure
          : new JoinException("joining failed: " + e.getCause(), e);
    } catch (TimeoutException e) {
      throw new JoinException(
          "joining failed: the endpoint's thread does not answer; is the processor overloaded?", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JoinException("interrupted while joining", e);
    } finally {
      probed.cancel(false);
    }
  }

  private UdpConfig udpConfig(InetAddress switchAddress) throws UnknownHostException {
    byte[] any = new byte[switchAddress instanceof Inet6Address ? 16 : 4];
    return new UdpConfig(
        new InetSocketAddress(InetAddress.getByAddress(any), 0),
        config.receiveBufferBytes(),
        UdpConfig.DEFAULT_BUFFER_BYTES,
        config.io(),
        config.faults(),
        "sumac-worker-" + config.rank());
  }

  private static InetAddress resolve(CommunicatorConfig config) {
    try {
      return InetAddress.getByName(config.switchHost());
    } catch (UnknownHostException e) {
      throw new JoinException(
          "the switch's host '" + config.switchHost() + "' is unknown: option --switch", e);
    }
  }

  private String whyNoAnswer() {
    return probed.getNow("it does not answer as a Sumac switch");
  }

  /** What there is to say about a switch that has not answered for half the time limit. */
  private String probe() {
    return membership.run() == null
        ? ControlProbe.why(config.switchHost(), config.switchPort(), config.tls())
        : "";
  }
}
