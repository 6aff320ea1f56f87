package dev.sumac.worker;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.OperationKind;
import dev.sumac.protocol.control.Admitted;
import dev.sumac.protocol.control.JoinChallenge;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
import dev.sumac.protocol.control.Mismatch;
import dev.sumac.protocol.control.RankLost;
import dev.sumac.protocol.control.Refused;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import dev.sumac.transport.DatagramListener;
import dev.sumac.transport.PacketNetwork;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.agrona.DirectBuffer;

/**
 * One rank's membership in one run, as a state machine: the conversation with the switch, and the
 * engine that it leads to. Owns no thread, socket, connection or clock: {@link Communicator} puts
 * those around it, a simulator virtual ones. Used on one thread (the endpoint's), but for {@link
 * #allReduce} and the getters, which any thread may call.
 *
 * <pre>
 *   JOINING --Challenge: prove--> JOINING --Admitted--> PROVING --Started--> MEMBER --leave, RankLost, Mismatch, end of the call--> OVER
 *   JOINING, PROVING --Refused, RankLost, end of the call, time limit--> OVER: started() fails
 * </pre>
 */
public final class Membership implements DatagramListener {
  private static final long MAX_LATENCY_NS = TimeUnit.HOURS.toNanos(1);

  /** This rank's end of the control stream. Used on the membership's thread. */
  public interface ControlCall {
    /** Sends a message; does nothing once the stream has ended. */
    void send(WorkerMessage message);

    /** Nothing more will be sent; the stream ends when the switch ends it too. */
    void halfClose();
  }

  private final CommunicatorConfig config;
  private final InetAddress switchAddress;
  private final PacketNetwork network;
  private final Supplier<String> whyNoAnswer;
  private final CompletableFuture<Void> started = new CompletableFuture<>();
  private final ConcurrentHistogram latencyNs = new ConcurrentHistogram(MAX_LATENCY_NS, 3);
  private ControlCall call;
  private JoinRequest request;
  private long deadlineNs;
  private int firstOperation;
  private List<Integer> missingRanks = List.of();
  private boolean hasLeft;
  private volatile Engine engine;
  private volatile RunParameters run;

  /**
   * @param whyNoAnswer asked when the switch has not answered in time: what else can be found out,
   *     for people
   */
  public Membership(
      CommunicatorConfig config,
      InetAddress switchAddress,
      PacketNetwork network,
      Supplier<String> whyNoAnswer) {
    this.config = config;
    this.switchAddress = switchAddress;
    this.network = network;
    this.whyNoAnswer = whyNoAnswer;
  }

  /**
   * Numbers operations from here on, the same at every rank. For tests that want to see counters
   * pass their top; to be called before {@link #begin}.
   */
  public void startOperationsAt(int number) {
    firstOperation = number;
  }

  /** Asks to take part. The time limit of joining runs from now. */
  public void begin(ControlCall toSwitch, long nowNs) {
    call = toSwitch;
    deadlineNs = nowNs + config.timeoutNs();
    request =
        JoinRequest.newBuilder()
            .setProtocolVersion(AggregationHeader.VERSION)
            .setJob(config.job())
            .setRank(config.rank())
            .setWorldSize(config.worldSize())
            .setElementsPerPacket(config.elementsPerPacket())
            .setWindow(config.window())
            .setReleasePolicy(
                config.releasePolicy() == ReleasePolicy.ACKNOWLEDGED
                    ? dev.sumac.protocol.control.ReleasePolicy.ACKNOWLEDGED
                    : dev.sumac.protocol.control.ReleasePolicy.TWO_VERSION)
            .setAuthenticate(config.authenticate())
            .build();
    call.send(WorkerMessage.newBuilder().setJoin(request).build());
  }

  /**
   * Completes when every rank has joined, or with a {@link JoinException}; within the time limit of
   * the configuration.
   */
  public CompletableFuture<Void> started() {
    return started;
  }

  /** The switch says something. */
  public void onMessage(SwitchMessage message) {
    switch (message.getMessageCase()) {
      case CHALLENGE -> prove(message.getChallenge());
      case ADMITTED -> admitted(message.getAdmitted());
      case REFUSED -> refused(message.getRefused());
      case WAITING -> missingRanks = List.copyOf(message.getWaiting().getMissingRanksList());
      case STARTED -> started.complete(null);
      case RANK_LOST -> {
        RankLost lost = message.getRankLost();
        fail(
            new RankLostException(
                lost.getRank(), "rank " + lost.getRank() + " lost: " + lost.getReason()));
      }
      case RANK_LEFT -> {
        if (engine != null) {
          engine.rankLeft(
              message.getRankLeft().getRank(), message.getRankLeft().getNextOperation());
        }
      }
      case MISMATCH -> fail(mismatch(message.getMismatch()));
      case MESSAGE_NOT_SET ->
          fail(new SwitchLostException("the switch speaks another version of the protocol"));
    }
  }

  /** The control stream has ended; the reason is for people. */
  public void onCallEnd(String reason) {
    hasLeft = true;
    fail(new SwitchLostException(engine == null ? reason : reason + engine.stoodStill()));
  }

  @Override
  public void onDatagram(
      DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
    if (engine != null) {
      engine.onDatagram(buffer, offset, lengthBytes, source, nowNs);
    }
  }

  @Override
  public boolean onTurn(long nowNs) {
    boolean isJoining = call != null && !started.isDone();
    if (isJoining && nowNs - deadlineNs >= 0) {
      joinFailed(new JoinException(engine == null ? notAdmitted() : notStarted()));
      isJoining = false;
    }
    boolean timeMatters = engine != null && engine.onTurn(nowNs);
    return isJoining || timeMatters;
  }

  /** Sums, or otherwise reduces, in place. The caller makes a turn soon. */
  public CompletableFuture<Void> allReduce(int[] data, OperationKind kind) {
    return submit(ChunkCodec.ints(Operand.of(data), Operand.of(data), kind), config.timeoutNs())
        .future();
  }

  /** Sums, or otherwise reduces, in place. The caller makes a turn soon. */
  public CompletableFuture<Void> allReduce(float[] data, OperationKind kind) {
    return submit(
            ChunkCodec.floats(Operand.of(data), Operand.of(data), kind, config.worldSize()),
            config.timeoutNs())
        .future();
  }

  /** Hands over an operation once {@link #started} has completed. The caller makes a turn soon. */
  Operation submit(ChunkCodec codec, long timeoutNs) {
    Operation operation = new Operation(codec, run.elementsPerPacket(), timeoutNs);
    engine.submit(operation);
    return operation;
  }

  /**
   * Leaves. Operations in flight fail, unless the others may still need this rank's answers: then
   * (release policy ACKNOWLEDGED, nothing under way) it stays until the switch ends the call.
   *
   * @return whether it stays
   */
  public boolean leave() {
    boolean stays =
        config.releasePolicy() == ReleasePolicy.ACKNOWLEDGED
            && engine != null
            && engine.failure() == null
            && !engine.isWaiting();
    leave("", stays);
    if (!stays) {
      end();
    }
    return stays;
  }

  /** Fails what is still under way, and everything later. */
  void end() {
    CommunicatorClosedException closed =
        new CommunicatorClosedException("the communicator was closed");
    started.completeExceptionally(closed);
    if (engine != null) {
      engine.fail(closed);
    }
  }

  Engine engine() {
    return engine;
  }

  /** Number of the run, once {@link #started} has completed. */
  public int runNumber() {
    return run.run();
  }

  /** What the switch granted, or null before it has. */
  RunParameters run() {
    return run;
  }

  Histogram latencyNs() {
    return latencyNs.copy();
  }

  private void leave(String failure, boolean stays) {
    if (hasLeft || call == null) {
      return;
    }
    hasLeft = true;
    call.send(
        WorkerMessage.newBuilder()
            .setLeave(
                Leave.newBuilder()
                    .setNextOperation(engine == null ? 0 : engine.nextOperation())
                    .setFailure(failure))
            .build());
    if (!stays) {
      call.halfClose();
    }
  }

  /** Shows that this rank knows the job's secret, without sending it. */
  private void prove(JoinChallenge challenge) {
    byte[] nonce = challenge.getNonce().toByteArray();
    if (started.isDone() || nonce.length < JobKey.MIN_NONCE_BYTES) {
      return;
    }
    JobKey key = config.jobKey();
    JoinProof.Builder proof =
        JoinProof.newBuilder().setTag(ByteString.copyFrom(key.proof(nonce, request.toByteArray())));
    if (challenge.getWantsKey()) {
      proof.setKey(ByteString.copyFrom(key.bytes()));
    }
    call.send(WorkerMessage.newBuilder().setProof(proof).build());
  }

  private void admitted(Admitted granted) {
    if (engine != null || started.isDone()) {
      return;
    }
    run = parameters(granted);
    engine =
        new Engine(
            run,
            network,
            config.minRtoNs(),
            failure -> leave(failure.getMessage(), false),
            ns -> latencyNs.recordValue(Math.min(ns, MAX_LATENCY_NS)),
            firstOperation);
  }

  private void refused(Refused refusal) {
    hasLeft = true; // It never was in.
    String text = "the switch refused: " + refusal.getText();
    joinFailed(
        refusal.getReason() == Refused.Reason.RANK_TAKEN
            ? new RankTakenException(text)
            : new JoinException(text));
  }

  private void fail(SumacException reason) {
    if (started.isDone() && !started.isCompletedExceptionally()) {
      engine.fail(reason);
    } else {
      joinFailed(new JoinException("joining failed: " + reason.getMessage(), reason));
    }
  }

  private void joinFailed(JoinException reason) {
    if (!started.completeExceptionally(reason)) {
      return;
    }
    if (engine != null) { // Else the switch does not know this rank.
      leave(reason.getMessage(), false);
      engine.fail(reason);
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

  private RunParameters parameters(Admitted granted) {
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

  private String notAdmitted() {
    return String.format(
        Locale.ROOT,
        "no answer from the switch at %s:%d in %.1f s (%s): is it running, is --switch right?",
        config.switchHost(),
        config.switchPort(),
        config.timeoutNs() / 1e9,
        whyNoAnswer.get());
  }

  private String notStarted() {
    if (missingRanks.contains(config.rank())) {
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
        missingRanks,
        config.worldSize(),
        config.job(),
        config.timeoutNs() / 1e9);
  }
}
