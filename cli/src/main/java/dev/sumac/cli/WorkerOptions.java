package dev.sumac.cli;

import dev.sumac.reliability.FaultSpec;
import dev.sumac.transport.UdpConfig;
import dev.sumac.worker.CommunicatorConfig;
import dev.sumac.worker.ReleasePolicy;
import java.io.IOException;
import java.time.Duration;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of every command that is a rank. */
final class WorkerOptions {
  @Option(names = "--rank", description = "This worker's number, from 0.", required = true)
  private int rank;

  @Option(names = "--world", description = "Number of workers.", required = true)
  private int world;

  @Option(
      names = "--switch",
      description = "The switch's HOST:PORT.",
      required = true,
      converter = HostPort.Converter.class)
  private HostPort switchAddress;

  @Option(names = "--job", description = "Name of the job.", defaultValue = "default")
  private String job;

  @Mixin private Token token;

  @Option(
      names = "--timeout",
      description = "Time limit in seconds, of joining and of each operation.",
      defaultValue = "10")
  private double timeoutSeconds;

  @Option(
      names = "--window",
      description = "Chunks in flight that this job would like; the switch may grant fewer.",
      defaultValue = "" + CommunicatorConfig.DEFAULT_WINDOW)
  private int window;

  @Mixin private PacketSize packetSize;

  @Mixin private TlsOptions tls;

  @Option(
      names = "--authenticate",
      description = "Every data packet carries an authentication tag; the same at all ranks.")
  private boolean authenticate;

  @Option(
      names = "--release",
      description = "When the switch may overwrite a result: ${COMPLETION-CANDIDATES}.",
      defaultValue = "two_version")
  private ReleasePolicy release;

  @Option(
      names = "--io",
      description = "Transport: ${COMPLETION-CANDIDATES}.",
      defaultValue = "best")
  private UdpConfig.Io io;

  @Option(
      names = "--faults",
      description = "Faults to make on arriving packets, as for the switch.",
      defaultValue = "")
  private String faults;

  CommunicatorConfig config() throws IOException {
    if (!(timeoutSeconds > 0 && timeoutSeconds <= 1e6)) {
      throw new IllegalArgumentException(
          "--timeout " + timeoutSeconds + " (more than 0, at most 1000000 seconds)");
    }
    return CommunicatorConfig.builder()
        .switchAddress(switchAddress.host(), switchAddress.port())
        .job(job)
        .rank(rank)
        .worldSize(world)
        .token(token.text())
        .timeout(Duration.ofNanos((long) (timeoutSeconds * 1e9)))
        .window(window)
        .elementsPerPacket(packetSize.elements(0, authenticate))
        .releasePolicy(release)
        .authenticate(authenticate)
        .tls(tls.files())
        .io(io)
        .faults(FaultSpec.parse(faults))
        .build();
  }
}
