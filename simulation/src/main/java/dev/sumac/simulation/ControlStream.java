package dev.sumac.simulation;

import dev.sumac.dataplane.ControlSession;
import dev.sumac.dataplane.MemberStream;
import dev.sumac.dataplane.SwitchCore;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import dev.sumac.worker.Membership;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * One control stream in virtual time: reliable, in order, with a delay for each message, as gRPC's
 * is; it ends when either side ends it, and breaks when a side crashes or is silent for too long.
 * Not thread-safe.
 */
final class ControlStream implements Membership.ControlCall, MemberStream {
  private static final long MAX_DELAY_NS = 300_000;

  private final EventQueue events;
  private final SplittableRandom random;
  private final Node workerNode;
  private final Consumer<SwitchMessage> toWorker;
  private final Consumer<String> onEndAtWorker;
  private final List<Runnable> beforeSession = new ArrayList<>();
  private Node switchNode;
  private ControlSession session;
  private long lastToWorkerNs;
  private long lastToSwitchNs;
  private boolean isOver;

  /**
   * @param toWorker takes what the switch says, on the worker's thread
   * @param onEndAtWorker told once that the stream has ended, on the worker's thread
   */
  ControlStream(
      EventQueue events,
      SplittableRandom random,
      Node workerNode,
      Consumer<SwitchMessage> toWorker,
      Consumer<String> onEndAtWorker) {
    this.events = events;
    this.random = random;
    this.workerNode = workerNode;
    this.toWorker = toWorker;
    this.onEndAtWorker = onEndAtWorker;
  }

  /** The switch takes the call: what was said before goes out now. */
  void open(SwitchCore core, Node control) {
    switchNode = control;
    session = core.openSession(this);
    beforeSession.forEach(this::toSwitch);
    beforeSession.clear();
  }

  boolean isOver() {
    return isOver;
  }

  @Override
  public void send(WorkerMessage message) {
    if (!isOver) {
      toSwitch(() -> session.onMessage(message));
    }
  }

  @Override
  public void halfClose() {
    if (!isOver) {
      toSwitch(() -> session.onCompleted());
    }
  }

  @Override
  public void tell(SwitchMessage message) {
    if (!isOver) {
      toWorker(() -> toWorker.accept(message));
    }
  }

  @Override
  public void close() {
    end("the switch has ended the run");
  }

  @Override
  public void fail(String reason) {
    end("the connection to the switch broke: " + reason);
  }

  @Override
  public String peer() {
    return workerNode.name();
  }

  /** A side is gone, or has been silent for too long: both learn it after so long. */
  void breakOff(long afterNs) {
    if (isOver) {
      return;
    }
    isOver = true;
    if (session != null) {
      switchNode.execute(afterNs, session::onBroken);
    }
    workerNode.execute(afterNs, () -> onEndAtWorker.accept("the connection to the switch broke"));
  }

  private void end(String reason) {
    if (!isOver) {
      isOver = true;
      switchNode.execute(1, () -> session.onClosed());
      toWorker(() -> onEndAtWorker.accept(reason));
    }
  }

  private void toWorker(Runnable task) {
    lastToWorkerNs = Math.max(lastToWorkerNs, events.nowNs() + 1 + random.nextLong(MAX_DELAY_NS));
    workerNode.execute(lastToWorkerNs - events.nowNs(), task);
  }

  private void toSwitch(Runnable task) {
    if (session == null) {
      beforeSession.add(task);
      return;
    }
    lastToSwitchNs = Math.max(lastToSwitchNs, events.nowNs() + 1 + random.nextLong(MAX_DELAY_NS));
    switchNode.execute(lastToSwitchNs - events.nowNs(), task);
  }
}
