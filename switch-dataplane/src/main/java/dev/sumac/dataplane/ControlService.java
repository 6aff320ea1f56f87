package dev.sumac.dataplane;

import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.protocol.control.StatusRequest;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.function.Supplier;

/**
 * The control channel: turns gRPC calls into calls of {@link Admission}. gRPC calls it on the
 * control thread only.
 */
final class ControlService extends ControlGrpc.ControlImplBase {
  /** Where the caller's address is kept for the time of a call. */
  static final Context.Key<String> PEER = Context.key("sumac-peer");

  private final Admission admission;
  private final Supplier<StatusReply> status;

  ControlService(Admission admission, Supplier<StatusReply> status) {
    this.admission = admission;
    this.status = status;
  }

  @Override
  public StreamObserver<WorkerMessage> join(StreamObserver<SwitchMessage> responses) {
    Membership membership =
        new Membership((ServerCallStreamObserver<SwitchMessage>) responses, PEER.get());
    admission.opened(membership);
    return membership;
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusReply> responses) {
    responses.onNext(status.get());
    responses.onCompleted();
  }

  /** One call of Join: one rank's membership, from its first message to the end of the call. */
  private final class Membership implements StreamObserver<WorkerMessage>, MemberStream {
    private final ServerCallStreamObserver<SwitchMessage> responses;
    private final String peer;
    private JobRun run;
    private int rank;
    private boolean asked;
    private boolean closed;

    Membership(ServerCallStreamObserver<SwitchMessage> responses, String peer) {
      this.responses = responses;
      this.peer = peer;
      // Also makes tell() harmless after the worker has gone: without it onNext would throw.
      responses.setOnCancelHandler(
          () -> {
            ended("its control connection broke");
            admission.ended(this);
          });
      responses.setOnCloseHandler(() -> admission.ended(this));
    }

    @Override
    public void onNext(WorkerMessage message) {
      if (closed) {
        return;
      }
      switch (message.getMessageCase()) {
        case JOIN -> {
          if (asked) {
            fail(Status.FAILED_PRECONDITION.withDescription("a call joins once"));
            return;
          }
          asked = true;
          rank = message.getJoin().getRank();
          admission.join(message.getJoin(), this);
        }
        case PROOF -> {
          if (run != null) {
            fail(Status.FAILED_PRECONDITION.withDescription("a call joins once"));
            return;
          }
          run = admission.prove(message.getProof(), this);
        }
        case LEAVE -> {
          if (run != null) {
            admission.leave(run, rank, message.getLeave());
          }
        }
        case MESSAGE_NOT_SET ->
            fail(
                Status.INVALID_ARGUMENT.withDescription(
                    "a message that this switch does not know"));
      }
    }

    @Override
    public void onError(Throwable error) {
      ended("its control connection broke");
    }

    @Override
    public void onCompleted() {
      ended("it ended its control stream without leaving");
      close();
    }

    @Override
    public void tell(SwitchMessage message) {
      if (!closed && !responses.isCancelled()) {
        responses.onNext(message);
      }
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        if (!responses.isCancelled()) {
          responses.onCompleted();
        }
      }
    }

    @Override
    public String peer() {
      return peer;
    }

    private void ended(String reason) {
      if (run != null) {
        admission.streamEnded(run, rank, reason);
      }
    }

    private void fail(Status reason) {
      ended(reason.getDescription());
      if (!closed) {
        closed = true;
        responses.onError(reason.asRuntimeException());
      }
    }
  }
}
