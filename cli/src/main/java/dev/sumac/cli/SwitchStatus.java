package dev.sumac.cli;

import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.protocol.control.StatusRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.TimeUnit;

/** Asks a switch for its counters. */
final class SwitchStatus {
  private static final long TIMEOUT_SECONDS = 3;

  private SwitchStatus() {}

  /**
   * One request.
   *
   * @throws IllegalStateException with one line when there is no answer
   */
  static StatusReply of(HostPort address) {
    ManagedChannel channel =
        Grpc.newChannelBuilderForAddress(
                address.host(), address.port(), InsecureChannelCredentials.create())
            .build();
    try {
      return ControlGrpc.newBlockingStub(channel)
          .withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS)
          .status(StatusRequest.getDefaultInstance());
    } catch (StatusRuntimeException e) {
      throw new IllegalStateException(
          "no answer from the switch at "
              + address.host()
              + ":"
              + address.port()
              + ": "
              + e.getStatus().getCode(),
          e);
    } finally {
      channel.shutdownNow();
    }
  }
}
