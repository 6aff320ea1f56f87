package dev.sumac.worker;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Malformed;
import dev.sumac.transport.DatagramListener;
import dev.sumac.transport.Outbox;
import dev.sumac.transport.PacketNetwork;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.agrona.DirectBuffer;
import org.jctools.queues.MpscUnboundedArrayQueue;

/**
 * One rank's data path: takes packets and time, drives a {@link Lane} for each shard, completes
 * operations and watches their time limits. Owns no thread, socket or clock.
 *
 * <p>{@link #submit} may be called from any thread; everything else is called on the endpoint's
 * thread.
 *
 * <pre>
 *   PROVING --every shard has proved this address--> RUNNING
 *   PROVING, RUNNING --{@link #fail}--> FAILED: every operation, pending or new, completes with that error
 * </pre>
 */
final class Engine implements DatagramListener, Lane.Listener {
  private static final long STOOD_STILL_NS = TimeUnit.SECONDS.toNanos(2);

  private final RunParameters run;
  private final Lane[] lanes;
  private final AddressProof[] proofs;
  private final MpscUnboundedArrayQueue<Operation> submitted = new MpscUnboundedArrayQueue<>(64);
  private final ArrayDeque<Operation> pending = new ArrayDeque<>();
  private final List<Operation> overdue = new ArrayList<>();
  private final AggregationHeader in = new AggregationHeader();
  private final Consumer<SumacException> onFailure;
  private final LongConsumer onLatencyNs;

  private SumacException failure;
  private int nextOperation;
  private long packetsReceived;
  private long packetsDropped;
  private int leftRank = -1;
  private int leftBefore;
  private boolean isTimed;
  private long lastTurnNs;
  private long stoodStillNs;

  /**
   * @param onFailure told once, when the engine fails for a reason of its own (a time limit)
   * @param onLatencyNs told how long each completed operation took
   * @param firstOperation number of the first operation
   */
  Engine(
      RunParameters run,
      PacketNetwork network,
      long minRtoNs,
      Consumer<SumacException> onFailure,
      LongConsumer onLatencyNs,
      int firstOperation) {
    this.nextOperation = firstOperation;
    this.run = run;
    this.onFailure = onFailure;
    this.onLatencyNs = onLatencyNs;
    this.lanes = new Lane[run.shards().size()];
    this.proofs = new AddressProof[lanes.length];
    for (int i = 0; i < lanes.length; i++) {
      Outbox outbox = network.outbox(run.shards().get(i));
      lanes[i] = new Lane(run, i, outbox, minRtoNs, this);
      proofs[i] = new AddressProof(run, outbox);
    }
  }

  /**
   * Hands over an operation; the caller wakes the endpoint up. Operations start in the order of
   * these calls.
   */
  void submit(Operation operation) {
    submitted.offer(operation);
  }

  @Override
  public void onDatagram(
      DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
    int lane = laneOf(source);
    int at = offset;
    int end = offset + lengthBytes;
    while (at < end) {
      packetsReceived++;
      if (lane < 0
          || in.check(buffer, at, end - at) != Malformed.NONE
          || in.run() != run.run()
          || in.cookie() != run.cookie()
          || !in.isAuthentic(run.authentication())) {
        packetsDropped++;
        return;
      }
      at += in.packetBytes();
      onPacket(lane, buffer, nowNs);
    }
  }

  private void onPacket(int lane, DirectBuffer buffer, long nowNs) {
    if (failure != null) {
      return;
    }
    switch (in.kind()) {
      case RESULT -> lanes[lane].onResult(in, buffer, nowNs);
      case SOLICIT -> lanes[lane].onSolicit(in.chunk(), nowNs);
      case CHALLENGE -> proofs[lane].onChallenge(in.chunk(), nowNs);
      case PROVED -> proofs[lane].onProved();
      case CONTRIBUTION, ACK, PROBE, ANSWER -> packetsDropped++;
    }
  }

  /**
   * Starts what was submitted, repeats what is overdue, and gives up what is past its time limit.
   */
  @Override
  public boolean onTurn(long nowNs) {
    if (isTimed && nowNs - lastTurnNs >= STOOD_STILL_NS) {
      stoodStillNs = nowNs - lastTurnNs;
    }
    lastTurnNs = nowNs;
    isTimed = isTimeWatched(nowNs);
    return isTimed;
  }

  private boolean isTimeWatched(long nowNs) {
    startSubmitted(nowNs);
    if (failure != null) {
      return false;
    }
    boolean proving = false;
    for (int i = 0; i < lanes.length; i++) {
      proofs[i].poll(nowNs);
      proving |= !proofs[i].isDone();
      lanes[i].poll(nowNs);
    }
    for (Operation operation : pending) {
      if (operation.isOverdue(nowNs)) {
        overdue.add(operation);
      }
    }
    if (!overdue.isEmpty()) {
      OperationTimeoutException timeout = timeout(overdue);
      giveUp(timeout);
    }
    return proving || !pending.isEmpty();
  }

  @Override
  public void onOperationDone(Operation operation, long nowNs) {
    stoodStillNs = 0;
    pending.remove(operation);
    onLatencyNs.accept(nowNs - operation.startedNs());
    operation.future().complete(null);
  }

  /** Another rank takes part in no operation from {@code nextOperationOfRank} on. */
  void rankLeft(int rank, int nextOperationOfRank) {
    if (leftRank < 0 || nextOperationOfRank - leftBefore < 0) {
      leftRank = rank;
      leftBefore = nextOperationOfRank;
    }
    for (Operation operation : pending) {
      if (operation.number() - leftBefore >= 0) {
        giveUp(rankHasLeft(operation.number()));
        return;
      }
    }
  }

  /** Ends everything with this error; later calls change nothing. */
  void fail(SumacException reason) {
    if (failure != null) {
      return;
    }
    failure = reason;
    for (Lane lane : lanes) {
      lane.abandon();
    }
    List<Operation> failed = new ArrayList<>(pending);
    pending.clear();
    failed.forEach(operation -> operation.future().completeExceptionally(reason));
    startSubmitted(0);
  }

  /** Ends everything for a reason of this rank's own; the others are to be told. */
  void giveUp(SumacException reason) {
    if (failure == null) {
      fail(reason);
      onFailure.accept(reason);
    }
  }

  SumacException failure() {
    return failure;
  }

  /**
   * For people, at the end of the reason of a failure: whether this process was stopped meanwhile,
   * so that the others may have given it up. Empty when it was not.
   */
  String stoodStill() {
    return stoodStillNs == 0
        ? ""
        : String.format(
            Locale.ROOT,
            "; this process stood still for %.1f s, longer than 4 s removes a rank from its run",
            stoodStillNs / 1e9);
  }

  /** Number that the next operation will have. */
  int nextOperation() {
    return nextOperation;
  }

  /** Whether an operation is on its way. */
  boolean isWaiting() {
    return !pending.isEmpty() || !submitted.isEmpty();
  }

  CommunicatorStats stats(long kernelDrops) {
    long sent = 0;
    long retransmissions = 0;
    for (Lane lane : lanes) {
      sent += lane.packetsSent();
      retransmissions += lane.retransmissions();
    }
    return new CommunicatorStats(
        nextOperation, sent, retransmissions, packetsReceived, packetsDropped, kernelDrops);
  }

  private void startSubmitted(long nowNs) {
    Operation operation;
    while ((operation = submitted.poll()) != null) {
      if (failure == null && leftRank >= 0 && nextOperation - leftBefore >= 0) {
        giveUp(rankHasLeft(nextOperation));
      }
      if (failure != null) {
        operation.future().completeExceptionally(failure);
        continue;
      }
      operation.start(nextOperation++, nowNs);
      pending.add(operation);
      for (Lane lane : lanes) {
        lane.submit(operation, nowNs);
      }
    }
  }

  /**
   * Which shard a datagram comes from, by its port: hosts with several addresses may answer from
   * another one.
   */
  private int laneOf(InetSocketAddress source) {
    List<InetSocketAddress> shards = run.shards();
    for (int i = 0; i < shards.size(); i++) {
      if (shards.get(i).getPort() == source.getPort()) {
        return i;
      }
    }
    return -1;
  }

  private RankLostException rankHasLeft(int operation) {
    return new RankLostException(
        leftRank,
        String.format(
            Locale.ROOT,
            "rank %d has left after %d operations; rank %d waits for it in operation %d",
            leftRank,
            Integer.toUnsignedLong(leftBefore),
            run.rank(),
            Integer.toUnsignedLong(operation)));
  }

  private OperationTimeoutException timeout(List<Operation> late) {
    StringBuilder text = new StringBuilder(128);
    text.append("rank ").append(run.rank()).append(": ");
    for (Operation operation : late) {
      text.append(
          String.format(
              Locale.ROOT,
              "operation %d has %d of %d chunks after %.1f s; ",
              Integer.toUnsignedLong(operation.number()),
              operation.chunks() - operation.chunksLeft(),
              operation.chunks(),
              operation.timeoutNs() / 1e9));
    }
    return new OperationTimeoutException(
        text.append("other ranks are late or the network is down (option --timeout)")
            .append(stoodStill())
            .toString());
  }
}
