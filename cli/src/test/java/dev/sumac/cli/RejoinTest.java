package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.protocol.OperationKind;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorClosedException;
import dev.sumac.worker.JoinException;
import dev.sumac.worker.RankLostException;
import dev.sumac.worker.ReleasePolicy;
import dev.sumac.worker.SumacException;
import dev.sumac.worker.SwitchLostException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Going on after a failure without starting the surviving processes again. */
final class RejoinTest {
  private static final int RANKS = 4;
  private static final int ROUNDS = 20;

  /** One rank leaves at a step boundary, another process takes its place; 20 times. */
  @ParameterizedTest
  @EnumSource(ReleasePolicy.class)
  @Tag("case-22")
  void aRankIsReplacedTwentyTimesInARow(ReleasePolicy policy) throws Exception {
    CyclicBarrier replaced = new CyclicBarrier(RANKS);
    try (LocalJob job = new LocalJob(RANKS)) {
      List<Future<Integer>> ranks =
          job.start(
              rank -> {
                Communicator communicator = open(job, rank, policy);
                int lost = 0;
                for (int round = 0; round < ROUNDS; round++) {
                  sumIsExact(communicator, round);
                  replaced.await(30, TimeUnit.SECONDS);
                  if (rank == round % RANKS) {
                    communicator.close();
                    communicator = open(job, rank, policy);
                  } else {
                    Communicator survivor = communicator;
                    RankLostException failure =
                        assertThrows(
                            RankLostException.class, () -> survivor.allReduce(new int[1_000]));
                    lost += failure.rank() == round % RANKS ? 1 : 0;
                    communicator.rejoin();
                  }
                }
                sumIsExact(communicator, ROUNDS);
                communicator.close();
                return lost;
              });
      List<Integer> lost = LocalJob.results(ranks);
      // A survivor that rejoins late may hear of another survivor that has left for the new run.
      assertTrue(Collections.min(lost) >= 0 && lost.size() == RANKS, lost.toString());
      assertEquals(2_048, freeSlots(job.aggregationSwitch()));
    }
  }

  /** Case 35. */
  @Test
  @Tag("case-35")
  void ranksRejoinASwitchThatWasStartedAgain() throws Exception {
    AggregationSwitch first = AggregationSwitch.start(SwitchConfig.builder().port(0).build());
    int port = first.port();
    try (LocalJob job = new LocalJob(2)) {
      CyclicBarrier steps = new CyclicBarrier(3);
      List<Future<Integer>> ranks =
          job.start(
              rank -> {
                try (Communicator communicator =
                    Communicator.open(job.config(rank).switchAddress("127.0.0.1", port).build())) {
                  sumIsExact(communicator, 1);
                  steps.await(30, TimeUnit.SECONDS);
                  assertThrows(
                      SwitchLostException.class,
                      () -> {
                        while (true) {
                          communicator.allReduce(new int[100_000]);
                        }
                      });
                  communicator.rejoin();
                  sumIsExact(communicator, 2);
                  return 0;
                }
              });
      steps.await(30, TimeUnit.SECONDS);
      first.close();
      try (AggregationSwitch second = startAgain(port)) {
        assertEquals(List.of(0, 0), LocalJob.results(ranks));
        assertEquals(port, second.port());
      }
    } finally {
      first.close();
    }
  }

  @Test
  void rejoiningNeedsAnOpenCommunicatorAndTheOthers() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      Communicator alone = Communicator.open(job.config(0).build());
      alone.rejoin();
      sumIsExact(alone, 3);
      alone.close();
      assertThrows(CommunicatorClosedException.class, alone::rejoin);
    }
    try (LocalJob job = new LocalJob(2)) {
      List<Future<String>> ranks =
          job.start(
              rank -> {
                try (Communicator communicator =
                    Communicator.open(job.config(rank).timeout(Duration.ofSeconds(2)).build())) {
                  if (rank == 1) {
                    return "";
                  }
                  assertThrows(SumacException.class, () -> communicator.allReduce(new int[1]));
                  String first =
                      assertThrows(JoinException.class, communicator::rejoin).getMessage();
                  // It may be tried again.
                  return first
                      + assertThrows(JoinException.class, communicator::rejoin).getMessage();
                }
              });
      String text = LocalJob.results(ranks).get(0);
      assertTrue(text.matches("(ranks \\[1\\] of 2 did not join .*){2}"), text);
    }
  }

  private static Communicator open(LocalJob job, int rank, ReleasePolicy policy) {
    // The rank that is replaced may come back before the switch has seen all the others leave.
    for (int attempt = 0; ; attempt++) {
      try {
        return Communicator.open(job.config(rank).releasePolicy(policy).build());
      } catch (JoinException e) {
        if (attempt == 1_000 || !(e instanceof dev.sumac.worker.RankTakenException)) {
          throw e;
        }
      }
    }
  }

  private static AggregationSwitch startAgain(int port) throws Exception {
    return AggregationSwitch.start(SwitchConfig.builder().port(port).build());
  }

  private static void sumIsExact(Communicator communicator, int round) {
    int[] values = new int[1_000];
    for (int i = 0; i < values.length; i++) {
      values[i] = i * (communicator.rank() + 1) + round;
    }
    communicator.allReduce(values, OperationKind.SUM);
    int n = communicator.worldSize();
    for (int i = 0; i < values.length; i++) {
      assertEquals(i * n * (n + 1) / 2 + n * round, values[i]);
    }
  }

  private static long freeSlots(AggregationSwitch target) throws InterruptedException {
    long deadlineNs = System.nanoTime() + 5_000_000_000L;
    while (target.freeSlots() != 2_048 && System.nanoTime() < deadlineNs) {
      Thread.onSpinWait();
    }
    return target.freeSlots();
  }
}
