package dev.sumac.worker;

import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A rank's end of the control channel: one gRPC call that lasts as long as the membership.
 * Thread-safe. Messages of the switch come on a gRPC thread, one at a time.
 */
final class ControlClient implements Membership.ControlCall, AutoCloseable {
  private static final long KEEP_ALIVE_SECONDS = 2;

  /**
   * How long a rank that leaves waits until the switch has heard it: cutting the call off before
   * that would be a loss to the others.
   */
  private static final long LEAVE_GRACE_MS = 2_000;

  private static final long ABORT_GRACE_MS = 200;

  private final ManagedChannel channel;
  private final StreamObserver<WorkerMessage> requests;
  private final CountDownLatch ended = new CountDownLatch(1);
  private boolean hasLeft;

  /**
   * Calls the switch; waits for nothing.
   *
   * @param onMessage told what the switch says
   * @param onEnd told once, with a reason for people, when the call has ended
   * @throws IOException when a TLS file can't be used, with one line that names it
   */
  ControlClient(
      CommunicatorConfig config, Consumer<SwitchMessage> onMessage, Consumer<String> onEnd)
      throws IOException {
    channel =
        Grpc.newChannelBuilderForAddress(
                config.switchHost(), config.switchPort(), config.tls().channelCredentials())
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .build();
    requests =
        ControlGrpc.newStub(channel)
            .withWaitForReady()
            .join(
                new StreamObserver<>() {
                  @Override
                  public void onNext(SwitchMessage message) {
                    onMessage.accept(message);
                  }

                  @Override
                  public void onError(Throwable error) {
                    ended.countDown();
                    onEnd.accept("the connection to the switch broke: " + error.getMessage());
                  }

                  @Override
                  public void onCompleted() {
                    ended.countDown();
                    onEnd.accept("the switch has ended the run");
                  }
                });
  }

  @Override
  public synchronized void send(WorkerMessage message) {
    if (ended.getCount() > 0) {
      hasLeft |= message.hasLeave();
      requests.onNext(message);
    }
  }

  @Override
  public synchronized void halfClose() {
    if (ended.getCount() > 0) {
      requests.onCompleted();
    }
  }

  /** Waits until the switch has ended the run, at most so long. */
  void awaitEnd(long limitNs) throws InterruptedException {
    ended.await(limitNs, TimeUnit.NANOSECONDS);
  }

  @Override
  public void close() {
    channel.shutdown();
    try {
      if (!channel.awaitTermination(graceMs(), TimeUnit.MILLISECONDS)) {
        channel.shutdownNow();
      }
    } catch (InterruptedException e) {
      channel.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }

  private synchronized long graceMs() {
    return hasLeft ? LEAVE_GRACE_MS : ABORT_GRACE_MS;
  }
}
