package dev.sumac.cli;

import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.protocol.control.StatusRequest;
import dev.sumac.transport.ControlProbe;
import dev.sumac.transport.TlsFiles;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Asks a switch for its counters. */
final class SwitchStatus {
  private static final long TIMEOUT_SECONDS = 3;

  private SwitchStatus() {}

  /** One request without TLS; see the other. */
  static StatusReply of(HostPort address) {
    return ask(address, TlsFiles.NONE, InsecureChannelCredentials.create());
  }

  /**
   * One request.
   *
   * @throws IllegalStateException with one line when there is no answer
   * @throws IOException when a TLS file can't be used, with one line that names it
   */
  static StatusReply of(HostPort address, TlsFiles tls) throws IOException {
    return ask(address, tls, tls.channelCredentials());
  }

  private static StatusReply ask(HostPort address, TlsFiles tls, ChannelCredentials credentials) {
    ManagedChannel channel =
        Grpc.newChannelBuilderForAddress(address.host(), address.port(), credentials).build();
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
              + e.getStatus().getCode()
              + " ("
              + ControlProbe.why(address.host(), address.port(), tls)
              + ")",
          e);
    } finally {
      channel.shutdownNow();
    }
  }
}
