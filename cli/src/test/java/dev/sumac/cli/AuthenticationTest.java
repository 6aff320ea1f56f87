package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.Counter;
import dev.sumac.dataplane.JobSecrets;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.JoinException;
import dev.sumac.worker.ReleasePolicy;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Jobs whose every packet carries an authentication tag, over real sockets with faults. */
@Timeout(60)
final class AuthenticationTest {
  private static final int LENGTH = 40_000;

  @ParameterizedTest
  @EnumSource(ReleasePolicy.class)
  void sumsAreExactUnderFaultsAndNoPacketOfAMemberIsDroppedAsForged(ReleasePolicy policy)
      throws Exception {
    FaultSpec faults = FaultSpec.parse("loss=0.005,duplicate=0.01,reorder=0.01,seed=5");
    try (LocalJob job =
        new LocalJob(
            3,
            options -> options.token("secret").faults(faults),
            options ->
                options
                    .token("secret")
                    .authenticate(true)
                    .releasePolicy(policy)
                    .window(64)
                    .faults(faults))) {
      List<int[]> sums =
          job.run(
              communicator -> {
                assertEquals(350, communicator.elementsPerPacket());
                int[] values = new int[LENGTH];
                Arrays.setAll(values, i -> i + communicator.rank());
                communicator.allReduce(values);
                return values;
              });
      for (int[] sum : sums) {
        for (int i = 0; i < LENGTH; i++) {
          assertEquals(3 * i + 3, sum[i]);
        }
      }
      assertEquals(0, job.aggregationSwitch().count(Counter.DROPPED_WRONG_AUTHENTICATION));
    }
  }

  @Test
  void anOpenSwitchTakesTheKeyOfTheFirstRank() throws Exception {
    try (LocalJob job =
        new LocalJob(2, options -> options, options -> options.token("own").authenticate(true))) {
      assertEquals(List.of(3, 3), job.run(AuthenticationTest::sum));
    }
  }

  @Test
  void eachJobProvesItsOwnSecret() throws Exception {
    JobSecrets secrets = JobSecrets.parse("f", List.of("red one", "blue two"));
    try (LocalJob job =
        new LocalJob(
            2, options -> options.secrets(secrets), options -> options.job("blue").token("two"))) {
      assertEquals(List.of(3, 3), job.run(AuthenticationTest::sum));
      refused(job, "red", "two", "'red'", "--secrets", "--token");
      refused(job, "green", "two", "'green'", "--secrets", "--job");
    }
  }

  private static void refused(LocalJob job, String name, String token, String... parts) {
    long startNs = System.nanoTime();
    String message =
        assertThrows(
                JoinException.class,
                () -> Communicator.open(job.config(0).job(name).token(token).build()))
            .getMessage();
    assertTrue(System.nanoTime() - startNs < Duration.ofSeconds(1).toNanos(), message);
    for (String part : parts) {
      assertTrue(message.contains(part), message);
    }
  }

  private static int sum(Communicator communicator) {
    int[] values = {communicator.rank() + 1};
    communicator.allReduce(values);
    return values[0];
  }
}
