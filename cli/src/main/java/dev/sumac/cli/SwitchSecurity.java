package dev.sumac.cli;

import dev.sumac.dataplane.JobSecrets;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.transport.TlsFiles;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of the switch that say who may come in, and how many at a time. */
final class SwitchSecurity {
  @Mixin private Token token;

  @Option(
      names = "--secrets",
      description =
          "File with a line 'job secret' for each job that may run, instead of --token. Lines that"
              + " begin with # say nothing.")
  private Path secrets;

  @Option(
      names = "--max-streams",
      description = "Most control streams at a time: members, and workers that are joining.",
      defaultValue = "" + SwitchConfig.DEFAULT_MAX_STREAMS)
  private int maxStreams;

  @Option(
      names = "--max-pending-joins",
      description =
          "Most joins that have not proved their token yet; beyond, the oldest is put out.",
      defaultValue = "" + SwitchConfig.DEFAULT_MAX_PENDING_JOINS)
  private int maxPendingJoins;

  @Option(
      names = "--tls-cert",
      description = "PEM file with the switch's certificate chain: TLS on the control channel.")
  private Path certificate;

  @Option(names = "--tls-key", description = "PEM file (PKCS#8) with the key of --tls-cert.")
  private Path key;

  @Option(
      names = "--tls-client-ca",
      description = "PEM file with the certificates that workers' own must come from.")
  private Path clientCa;

  SwitchConfig.Builder apply(SwitchConfig.Builder builder) throws IOException {
    return builder
        .secrets(jobSecrets())
        .maxStreams(maxStreams)
        .maxPendingJoins(maxPendingJoins)
        .tls(TlsFiles.ofSwitch(certificate, key, clientCa));
  }

  private JobSecrets jobSecrets() throws IOException {
    String common = token.text();
    if (secrets == null) {
      return JobSecrets.common(common);
    }
    if (!common.isEmpty()) {
      throw new IllegalArgumentException(
          "--secrets and --token (or --token-file, SUMAC_TOKEN) exclude each other");
    }
    try {
      return JobSecrets.parse(secrets.toString(), Files.readAllLines(secrets));
    } catch (NoSuchFileException e) {
      throw new IOException("--secrets " + secrets + " can't be read: no such file", e);
    } catch (MalformedInputException e) {
      throw new IOException("--secrets " + secrets + " can't be read: it is not UTF-8", e);
    } catch (IOException e) {
      throw new IOException("--secrets " + secrets + " can't be read: " + e.getMessage(), e);
    }
  }
}
