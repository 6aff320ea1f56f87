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
 * The control channel over gRPC: each call of Join is one {@link ControlSession}. gRPC calls it on
 * the control thread only.
 */
final class ControlService extends ControlGrpc.ControlImplBase {
  /** Where the caller's address is kept for the time of a call. */
  static final Context.Key<String> PEER = Context.key("sumac-peer");

  private final SwitchCore core;
  private final Supplier<StatusReply> status;

  ControlService(SwitchCore core, Supplier<StatusReply> status) {
    this.core = core;
    this.status = status;
  }

  @Override
  public StreamObserver<WorkerMessage> join(StreamObserver<SwitchMessage> responses) {
    GrpcStream stream =
        new GrpcStream((ServerCallStreamObserver<SwitchMessage>) responses, PEER.get());
    ControlSession session = core.openSession(stream);
    // Also makes tell() harmless after the worker has gone: without it onNext would throw.
    stream.responses.setOnCancelHandler(session::onBroken);
    stream.responses.setOnCloseHandler(session::onClosed);
    return new StreamObserver<>() {
      @Override
      public void onNext(WorkerMessage message) {
        if (!stream.closed) {
          session.onMessage(message);
        }
      }

      @Override
      public void onError(Throwable error) {
        session.onBroken();
      }

      @Override
      public void onCompleted() {
        session.onCompleted();
      }
    };
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusReply> responses) {
    responses.onNext(status.get());
    responses.onCompleted();
  }

  /** The way back to the worker. */
  private static final class GrpcStream implements MemberStream {
    private final ServerCallStreamObserver<SwitchMessage> responses;
    private final String peer;
    private boolean closed;

    GrpcStream(ServerCallStreamObserver<SwitchMessage> responses, String peer) {
      this.responses = responses;
      this.peer = peer;
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
    public void fail(String reason) {
      if (!closed) {
        closed = true;
        responses.onError(Status.INVALID_ARGUMENT.withDescription(reason).asRuntimeException());
      }
    }

    @Override
    public String peer() {
      return peer;
    }
  }
}
