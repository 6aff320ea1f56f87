package dev.sumac.worker;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A rank's end of the control channel: one gRPC call that lasts as long as the membership.
 * Thread-safe. Messages of the switch come on a gRPC thread, one at a time.
 */
final class ControlClient implements AutoCloseable {
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
  private boolean left;

  /**
   * Calls the switch; waits for nothing.
   *
   * @param onMessage told what the switch says
   * @param onEnd told once, with a reason for people, when the call has ended
   */
  ControlClient(
      CommunicatorConfig config, Consumer<SwitchMessage> onMessage, Consumer<String> onEnd) {
    channel =
        Grpc.newChannelBuilderForAddress(
                config.switchHost(), config.switchPort(), InsecureChannelCredentials.create())
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
    requests.onNext(
        WorkerMessage.newBuilder()
            .setJoin(
                JoinRequest.newBuilder()
                    .setProtocolVersion(AggregationHeader.VERSION)
                    .setJob(config.job())
                    .setRank(config.rank())
                    .setWorldSize(config.worldSize())
                    .setToken(ByteString.copyFromUtf8(config.token()))
                    .setElementsPerPacket(config.elementsPerPacket())
                    .setWindow(config.window())
                    .setReleasePolicy(
                        config.releasePolicy() == ReleasePolicy.ACKNOWLEDGED
                            ? dev.sumac.protocol.control.ReleasePolicy.ACKNOWLEDGED
                            : dev.sumac.protocol.control.ReleasePolicy.TWO_VERSION))
            .build());
  }

  /**
   * Says that this rank goes; later calls change nothing.
   *
   * @param nextOperation number that its next operation would have had
   * @param failure why, or empty for a plain close
   * @param stays whether the call stays open until the switch ends it, when all ranks have left
   */
  synchronized void leave(int nextOperation, String failure, boolean stays) {
    if (left || ended.getCount() == 0) {
      return;
    }
    left = true;
    requests.onNext(
        WorkerMessage.newBuilder()
            .setLeave(Leave.newBuilder().setNextOperation(nextOperation).setFailure(failure))
            .build());
    if (!stays) {
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
    return left ? LEAVE_GRACE_MS : ABORT_GRACE_MS;
  }
}
