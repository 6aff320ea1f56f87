package dev.sumac.worker;

import dev.sumac.protocol.control.Admitted;
import dev.sumac.protocol.control.Mismatch;
import dev.sumac.protocol.control.RankLeft;
import dev.sumac.protocol.control.RankLost;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.transport.ControlProbe;
import dev.sumac.transport.UdpConfig;
import dev.sumac.transport.UdpEndpoint;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * One rank's membership in a run: the conversation with the switch, and the endpoint and engine
 * that it leads to. Thread-safe: the switch's messages come on a gRPC thread, the engine's failures
 * on the endpoint's.
 *
 * <pre>
 *   JOINING --Admitted--> PROVING --Started--> MEMBER --leave, RankLost, Mismatch, end of the call--> OVER
 *   JOINING, PROVING --Refused, RankLost, end of the call, time limit--> OVER: join() throws
 * </pre>
 */
final class Membership implements AutoCloseable {
  private static final long MAX_LATENCY_NS = TimeUnit.HOURS.toNanos(1);

  private final CommunicatorConfig config;
  private final CompletableFuture<Admitted> admitted = new CompletableFuture<>();
  private final CompletableFuture<Void> started = new CompletableFuture<>();
  private final ConcurrentHistogram latencyNs = new ConcurrentHistogram(MAX_LATENCY_NS, 3);
  private volatile List<Integer> missingRanks = List.of();
  private volatile ControlClient control;
  private volatile UdpEndpoint endpoint;
  private volatile Engine engine;
  private volatile RunParameters run;

  private Membership(CommunicatorConfig config) {
    this.config = config;
  }

  /** Joins, within the time limit; see {@link Communicator#open}. */
  static Membership join(CommunicatorConfig config) {
    Membership membership = new Membership(config);
    try {
      membership.join(System.nanoTime() + config.timeoutNs());
      return membership;
    } catch (IOException e) {
      membership.close();
      throw new JoinException(e.getMessage(), e);
    } catch (RuntimeException e) {
      membership.close();
      throw e;
    }
  }

  private void join(long deadlineNs) throws IOException {
    InetAddress switchAddress = resolve(config);
    control = new ControlClient(config, this::onMessage, this::onStreamEnd);
    run = parameters(await(admitted, deadlineNs, this::notAdmitted), switchAddress);
    endpoint =
        UdpEndpoint.open(
            udpConfig(switchAddress),
            udp ->
                engine =
                    new Engine(
                        run,
                        udp,
                        config.minRtoNs(),
                        failure -> leave(failure.getMessage(), false),
                        ns -> latencyNs.recordValue(Math.min(ns, MAX_LATENCY_NS))));
    endpoint.wakeUp();
    await(started, deadlineNs, this::notStarted);
  }

  UdpEndpoint endpoint() {
    return endpoint;
  }

  Engine engine() {
    return engine;
  }

  RunParameters run() {
    return run;
  }

  Histogram latencyNs() {
    return latencyNs.copy();
  }

  /** Tells the switch that this rank goes; on the endpoint's thread. */
  void leave(String failure, boolean stays) {
    control.leave(engine.nextOperation(), failure, stays);
  }

  /** Waits until the run is over for all ranks, at most so long. */
  void awaitEnd(long limitNs) throws InterruptedException {
    control.awaitEnd(limitNs);
  }

  /** Gives back the connection, the socket and the thread. */
  @Override
  public void close() {
    if (control != null) {
      control.close();
    }
    if (endpoint != null) {
      endpoint.close();
    }
  }

  private void onMessage(SwitchMessage message) {
    switch (message.getMessageCase()) {
      case ADMITTED -> admitted.complete(message.getAdmitted());
      case REFUSED ->
          admitted.completeExceptionally(
              new JoinException("the switch refused: " + message.getRefused().getText()));
      case WAITING -> missingRanks = List.copyOf(message.getWaiting().getMissingRanksList());
      case STARTED -> started.complete(null);
      case RANK_LOST -> {
        RankLost lost = message.getRankLost();
        fail(
            new RankLostException(
                lost.getRank(), "rank " + lost.getRank() + " lost: " + lost.getReason()));
      }
      case RANK_LEFT -> {
        RankLeft gone = message.getRankLeft();
        if (engine != null) {
          endpoint.execute(() -> engine.rankLeft(gone.getRank(), gone.getNextOperation()));
        }
      }
      case MISMATCH -> fail(mismatch(message.getMismatch()));
      case CHALLENGE -> {} // Answered by ControlClient.
      case MESSAGE_NOT_SET ->
          fail(new SwitchLostException("the switch speaks another version of the protocol"));
    }
  }

  private void onStreamEnd(String reason) {
    fail(new SwitchLostException(reason));
  }

  private void fail(SumacException reason) {
    if (started.isDone() && !started.isCompletedExceptionally()) {
      endpoint.execute(() -> engine.fail(reason));
    } else {
      JoinException notJoined = new JoinException("joining failed: " + reason.getMessage(), reason);
      admitted.completeExceptionally(notJoined);
      started.completeExceptionally(notJoined);
    }
  }

  private static OperationMismatchException mismatch(Mismatch mismatch) {
    return new OperationMismatchException(
        String.format(
            Locale.ROOT,
            "rank %d calls %s, but rank %d calls %s",
            mismatch.getRankA(),
            mismatch.getValueA(),
            mismatch.getRankB(),
            mismatch.getValueB()));
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

  private RunParameters parameters(Admitted granted, InetAddress switchAddress) {
    List<InetSocketAddress> shards = new ArrayList<>();
    granted
        .getShardPortsList()
        .forEach(port -> shards.add(new InetSocketAddress(switchAddress, port)));
    return new RunParameters(
        granted.getRun(),
        granted.getCookie(),
        granted.getJobNumber(),
        config.rank(),
        config.worldSize(),
        granted.getSlots(),
        granted.getElementsPerPacket(),
        granted.getFirstChunk(),
        List.copyOf(shards),
        config.releasePolicy(),
        config.runKey(granted.getRun(), granted.getCookie()));
  }

  private static InetAddress resolve(CommunicatorConfig config) {
    try {
      return InetAddress.getByName(config.switchHost());
    } catch (UnknownHostException e) {
      throw new JoinException(
          "the switch's host '" + config.switchHost() + "' is unknown: option --switch", e);
    }
  }

  private static <T> T await(
      CompletableFuture<T> future, long deadlineNs, Supplier<String> lateText) {
    try {
      return future.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new JoinException(lateText.get(), e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof SumacException failure
          ? failure
          : new JoinException("joining failed: " + e.getCause(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JoinException("interrupted while joining", e);
    }
  }

  private String notAdmitted() {
    return String.format(
        Locale.ROOT,
        "no answer from the switch at %s:%d in %.1f s (%s): is it running, is --switch right?",
        config.switchHost(),
        config.switchPort(),
        config.timeoutNs() / 1e9,
        ControlProbe.why(config.switchHost(), config.switchPort(), config.tls()));
  }

  private String notStarted() {
    List<Integer> missing = missingRanks;
    if (missing.contains(config.rank())) {
      return String.format(
          Locale.ROOT,
          "the switch at %s answers on TCP port %d, but not on UDP ports %s in %.1f s: a firewall?",
          config.switchHost(),
          config.switchPort(),
          run.shards().stream().map(InetSocketAddress::getPort).toList(),
          config.timeoutNs() / 1e9);
    }
    return String.format(
        Locale.ROOT,
        "ranks %s of %d did not join job '%s' in %.1f s (option --timeout)",
        missing,
        config.worldSize(),
        config.job(),
        config.timeoutNs() / 1e9);
  }
}
