package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.transport.TlsFiles;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.JoinException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** TLS on the control channel, with real certificates over real sockets. */
@Timeout(60)
final class TlsTest {
  private static final Duration SHORT = Duration.ofMillis(1_500);

  @TempDir static Path folder;
  private static TestCertificates ours;
  private static TestCertificates workers;

  @BeforeAll
  static void makeCertificates() throws Exception {
    ours = TestCertificates.make(folder, "switch", "RSA");
    workers = TestCertificates.make(folder, "worker", "EC");
  }

  @Test
  void aJobRunsOverTls() throws Exception {
    try (LocalJob job = job(ours.ofSwitch(), ours.trusted())) {
      assertEquals(List.of(5, 5), job.run(TlsTest::sumOfRanksPlusTwo));
      HostPort address = new HostPort("127.0.0.1", job.aggregationSwitch().port());
      assertEquals(
          2, SwitchStatus.of(address, ours.trusted()).getCountersMap().get("contributions"));
    }
  }

  @Test
  void aJobRunsOverMutualTls() throws Exception {
    try (LocalJob job = job(ours.ofSwitchThatTrusts(workers), workers.ofWorkerThatTrusts(ours))) {
      assertEquals(List.of(5, 5), job.run(TlsTest::sumOfRanksPlusTwo));
    }
  }

  @Test
  void aWorkerWithoutTheCertificateThatTheSwitchDemandsLearnsWhichOption() throws Exception {
    refused(ours.ofSwitchThatTrusts(workers), ours.trusted(), "TLS", "--tls-cert");
  }

  @Test
  void aWorkerThatDoesNotTrustTheSwitchLearnsWhichOption() throws Exception {
    refused(ours.ofSwitch(), workers.trusted(), "TLS", "--tls-ca");
  }

  @Test
  void aPlainWorkerAtATlsSwitchLearnsThatItSpeaksTls() throws Exception {
    refused(ours.ofSwitch(), TlsFiles.NONE, "it speaks TLS", "--tls-ca");
    refused(ours.ofSwitchThatTrusts(workers), TlsFiles.NONE, "it speaks TLS", "--tls-ca");
  }

  @Test
  void aTlsWorkerAtAPlainSwitchLearnsThatItDoesNot() throws Exception {
    refused(TlsFiles.NONE, ours.trusted(), "it does not speak TLS", "--tls-ca", "--tls-cert");
  }

  @Test
  void filesThatCanNotBeUsedAreNamedInOneLineWithTheirOption() throws Exception {
    Path missing = folder.resolve("missing.pem");
    Path garbage = Files.writeString(folder.resolve("garbage.pem"), "garbage");
    bad(TlsFiles.ofSwitch(missing, ours.key(), null), "--tls-cert", "missing.pem", "no such file");
    bad(TlsFiles.ofSwitch(ours.certificate(), missing, null), "--tls-key", "missing.pem");
    bad(TlsFiles.ofSwitch(garbage, ours.key(), null), "--tls-cert", "garbage.pem", "certificate");
    bad(TlsFiles.ofSwitch(ours.certificate(), garbage, null), "--tls-key", "pkcs8");
    bad(TlsFiles.ofSwitch(ours.certificate(), workers.key(), null), "--tls-key", "RSA");
    TestCertificates other = TestCertificates.make(folder, "other", "EC");
    bad(TlsFiles.ofSwitch(workers.certificate(), other.key(), null), "is not the key of");
    bad(TlsFiles.ofSwitch(ours.certificate(), ours.key(), garbage), "--tls-client-ca");
    bad(TlsFiles.ofSwitch(folder, ours.key(), null), "--tls-cert");
    try (LocalJob job = job(TlsFiles.NONE, TlsFiles.ofWorker(null, null, missing))) {
      JoinException failure =
          assertThrows(JoinException.class, () -> Communicator.open(job.config(0).build()));
      line(failure.getMessage(), "--tls-ca", "missing.pem", "no such file");
    }
  }

  @Test
  void halfAPairIsAUsageError() {
    Path file = Path.of("x.pem");
    usage(() -> TlsFiles.ofSwitch(file, null, null), "--tls-cert x.pem without --tls-key");
    usage(() -> TlsFiles.ofWorker(null, file, null), "--tls-key x.pem without --tls-cert");
    usage(() -> TlsFiles.ofSwitch(null, null, file), "--tls-client-ca x.pem without");
  }

  private static int sumOfRanksPlusTwo(Communicator communicator) {
    int[] values = {communicator.rank() + 2};
    communicator.allReduce(values);
    return values[0];
  }

  private static LocalJob job(TlsFiles ofSwitch, TlsFiles ofWorkers) throws IOException {
    return new LocalJob(2, options -> options.tls(ofSwitch), options -> options.tls(ofWorkers));
  }

  private static void refused(TlsFiles ofSwitch, TlsFiles ofWorker, String... parts)
      throws IOException {
    try (LocalJob job = job(ofSwitch, ofWorker)) {
      long startNs = System.nanoTime();
      JoinException failure =
          assertThrows(
              JoinException.class, () -> Communicator.open(job.config(0).timeout(SHORT).build()));
      assertTrue(System.nanoTime() - startNs < 3 * SHORT.toNanos());
      line(failure.getMessage(), parts);
    }
  }

  private static void bad(TlsFiles files, String... parts) {
    SwitchConfig config = SwitchConfig.builder().port(0).tls(files).build();
    line(
        assertThrows(IOException.class, () -> AggregationSwitch.start(config)).getMessage(), parts);
  }

  private static void usage(Executable make, String part) {
    line(assertThrows(IllegalArgumentException.class, make).getMessage(), part);
  }

  private static void line(String message, String... parts) {
    assertEquals(1, message.lines().count(), message);
    for (String part : parts) {
      assertTrue(message.contains(part), message);
    }
  }
}
