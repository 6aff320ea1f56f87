package dev.sumac.cli;

import dev.sumac.transport.TlsFiles;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** TLS on the control channel, as a worker has it. */
final class TlsOptions {
  @Option(
      names = "--tls-ca",
      description =
          "PEM file with the certificates that the switch's must come from. Any of the --tls"
              + " options turns TLS on for the control channel.")
  private Path ca;

  @Option(
      names = "--tls-cert",
      description = "PEM file with this worker's certificate, where the switch demands one.")
  private Path certificate;

  @Option(names = "--tls-key", description = "PEM file (PKCS#8) with the key of --tls-cert.")
  private Path key;

  TlsFiles files() {
    return TlsFiles.ofWorker(certificate, key, ca);
  }
}
