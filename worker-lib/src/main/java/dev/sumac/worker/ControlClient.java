package dev.sumac.worker;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.JoinChallenge;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
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
final class ControlClient implements AutoCloseable {
  private static final long KEEP_ALIVE_SECONDS = 2;
  private static final long LEAVE_GRACE_MS = 200;

  private final JoinRequest request;
  private final JobKey key;
  private final ManagedChannel channel;
  private final StreamObserver<WorkerMessage> requests;
  private final CountDownLatch ended = new CountDownLatch(1);
  private boolean left;

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
    request = request(config);
    key = config.jobKey();
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
                    if (message.hasChallenge()) {
                      prove(message.getChallenge());
                    } else {
                      onMessage.accept(message);
                    }
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
    requests.onNext(WorkerMessage.newBuilder().setJoin(request).build());
  }

  private static JoinRequest request(CommunicatorConfig config) {
    return JoinRequest.newBuilder()
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
  }

  /** Shows that this rank knows the job's secret, without sending it. */
  private synchronized void prove(JoinChallenge challenge) {
    byte[] nonce = challenge.getNonce().toByteArray();
    if (left || nonce.length < JobKey.MIN_NONCE_BYTES) {
      return;
    }
    JoinProof.Builder proof =
        JoinProof.newBuilder().setTag(ByteString.copyFrom(key.proof(nonce, request.toByteArray())));
    if (challenge.getWantsKey()) {
      proof.setKey(ByteString.copyFrom(key.bytes()));
    }
    requests.onNext(WorkerMessage.newBuilder().setProof(proof).build());
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
      if (!channel.awaitTermination(LEAVE_GRACE_MS, TimeUnit.MILLISECONDS)) {
        channel.shutdownNow();
      }
    } catch (InterruptedException e) {
      channel.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
