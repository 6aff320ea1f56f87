package dev.sumac.simulation;

import dev.sumac.worker.CommunicatorConfig;
import dev.sumac.worker.Membership;
import dev.sumac.worker.SumacException;
import java.util.concurrent.CompletableFuture;

/**
 * One rank's process in virtual time: joins with the real {@link Membership}, calls what the plan
 * says, checks every result, leaves; after an error it rejoins as often as the plan allows. Not
 * thread-safe.
 */
final class RankProgram {
  private static final long CONNECT_NS = 200_000;
  private static final long CONNECT_RETRY_NS = 50 * Plan.MS;

  private final Plan plan;
  private final int rank;
  private final EventQueue events;
  private final SwitchHost switchHost;
  private final Node node;
  private final Trace trace;

  private Membership membership;
  private ControlStream stream;
  private int attempt;
  private int nextCall;
  private int inFlight;
  private Throwable error;
  private boolean stays;
  private boolean staysAndIsRight;
  private boolean isDone;
  private boolean isRight;
  private boolean isKilled;
  private long doneNs;
  private String violation;

  RankProgram(
      Plan plan, int rank, EventQueue events, SwitchHost switchHost, Node node, Trace trace) {
    this.plan = plan;
    this.rank = rank;
    this.events = events;
    this.switchHost = switchHost;
    this.node = node;
    this.trace = trace;
  }

  /** Whether nothing more will happen here. */
  boolean isDone() {
    return isDone || isKilled;
  }

  boolean isKilled() {
    return isKilled;
  }

  /** Whether every call was made and was right. */
  boolean isRight() {
    return isRight;
  }

  /** The last error, or null. */
  Throwable error() {
    return error;
  }

  long doneNs() {
    return doneNs;
  }

  /** What no schedule may bring about, in words, or null. */
  String violation() {
    return violation;
  }

  Node node() {
    return node;
  }

  ControlStream stream() {
    return stream;
  }

  /** The process is gone. */
  void kill(long noticedAfterNs) {
    if (isDone()) {
      return;
    }
    trace.line(events.nowNs(), node.name(), "KILLED");
    isKilled = true;
    node.crash();
    if (stream != null) {
      stream.breakOff(noticedAfterNs);
    }
  }

  /** The program closes its communicator, wherever it is. */
  void close() {
    if (!isDone() && membership != null) {
      node.execute(0, () -> finish(false));
    }
  }

  /** Joins. */
  void start() {
    attempt++;
    nextCall = 0;
    inFlight = 0;
    Membership joining =
        new Membership(config(), switchHost.address(), node, () -> "nobody answers");
    joining.startOperationsAt(plan.firstOperation);
    ControlStream call =
        new ControlStream(
            events,
            plan.random.split(),
            node,
            joining::onMessage,
            reason -> callEnded(joining, reason));
    membership = joining;
    stream = call;
    node.listener(joining);
    long beganNs = events.nowNs();
    trace.line(beganNs, node.name(), "joins, attempt %d", attempt);
    joining
        .started()
        .whenComplete(
            (nothing, failure) -> {
              checkLimit("joining", beganNs);
              if (failure != null) {
                failed(joining, failure);
              } else {
                node.execute(0, () -> callNext(joining));
              }
            });
    connect(call);
    node.execute(0, () -> joining.begin(call, events.nowNs()));
  }

  private void callEnded(Membership ended, String reason) {
    ended.onCallEnd(reason);
    if (stays) {
      stays = false;
      done(staysAndIsRight);
    }
  }

  private void connect(ControlStream call) {
    events.after(
        1 + plan.random.nextLong(CONNECT_NS),
        () -> {
          if (call.isOver()) {
            return;
          }
          if (switchHost.isUp()) {
            switchHost.accept(call);
          } else {
            events.after(CONNECT_RETRY_NS, () -> connect(call));
          }
        });
  }

  private void callNext(Membership current) {
    if (current != membership || isDone()) {
      return;
    }
    while (inFlight < plan.callsInFlight && nextCall < plan.calls.size()) {
      int index = nextCall++;
      inFlight++;
      call(current, index);
    }
    if (inFlight == 0 && nextCall == plan.calls.size()) {
      finish(true);
    }
  }

  private void call(Membership current, int index) {
    boolean isOdd = rank == plan.oddRank && index == plan.oddCall;
    Call call = isOdd ? plan.odd : plan.calls.get(index);
    int run = current.runNumber();
    long beganNs = events.nowNs();
    CompletableFuture<Void> future;
    int[] ints = call.isFloat() ? null : call.ints(run, index, rank);
    float[] floats = call.isFloat() ? call.floats(run, index, rank) : null;
    future =
        call.isFloat()
            ? current.allReduce(floats, call.kind())
            : current.allReduce(ints, call.kind());
    trace.line(beganNs, node.name(), "call %d: %s", index, call);
    future.whenComplete(
        (nothing, failure) -> {
          checkLimit("call " + index, beganNs);
          inFlight--;
          if (failure != null) {
            failed(current, failure);
            return;
          }
          String wrong =
              call.isFloat()
                  ? call.firstWrong(floats, run, index, plan.ranks)
                  : call.firstWrong(ints, run, index, plan.ranks);
          trace.line(events.nowNs(), node.name(), "call %d is done", index);
          if (wrong != null) {
            violate("call " + index + " (" + call + "): " + wrong);
          } else if (isOdd) {
            violate("call " + index + " was odd here, and yet it completed");
          }
          node.execute(plan.random.nextLong(plan.thinkNs), () -> callNext(current));
        });
    node.wakeUp();
  }

  private void failed(Membership current, Throwable failure) {
    if (current != membership || isDone()) {
      return;
    }
    if (!(failure instanceof SumacException) || failure.getClass() == SumacException.class) {
      violate("an undocumented error: " + failure);
    }
    trace.line(events.nowNs(), node.name(), "FAILS: %s", failure.getMessage());
    error = failure;
    membership = null;
    node.execute(
        0,
        () -> {
          current.leave();
          if (attempt < plan.attempts && !plan.isSomebodyThrough) {
            node.execute(1 + plan.random.nextLong(plan.rejoinNs), this::start);
          } else {
            done(false);
          }
        });
  }

  private void finish(boolean right) {
    if (membership == null || isDone()) {
      return;
    }
    Membership leaving = membership;
    trace.line(events.nowNs(), node.name(), "leaves");
    membership = null;
    if (!leaving.leave()) {
      done(right);
    } else if (stream.isOver()) {
      done(right);
    } else {
      staysAndIsRight = right;
      stays = true;
    }
  }

  private void done(boolean right) {
    isDone = true;
    isRight = right;
    plan.isSomebodyThrough |= right;
    doneNs = events.nowNs();
  }

  /** Law 1: an answer or an error within the limit; a stopped process is excused. */
  private void checkLimit(String what, long beganNs) {
    long tookNs = events.nowNs() - beganNs;
    if (!node.wasPaused() && tookNs > plan.timeoutNs + plan.timeoutNs / 10) {
      violate(
          what + " took " + tookNs / 1_000_000 + " ms, its limit is " + plan.timeoutNs / Plan.MS);
    }
  }

  private void violate(String what) {
    trace.line(events.nowNs(), node.name(), "VIOLATION: %s", what);
    if (violation == null) {
      violation = "rank " + rank + ": " + what;
    }
  }

  private CommunicatorConfig config() {
    return CommunicatorConfig.builder()
        .job("simulated")
        .rank(rank)
        .worldSize(plan.ranks)
        .timeout(java.time.Duration.ofNanos(plan.timeoutNs))
        .window(plan.window)
        .releasePolicy(plan.policy)
        .build();
  }
}
