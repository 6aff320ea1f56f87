package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.Counter;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.protocol.OperationKind;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorClosedException;
import dev.sumac.worker.CommunicatorConfig;
import dev.sumac.worker.JoinException;
import dev.sumac.worker.OperationMismatchException;
import dev.sumac.worker.OperationTimeoutException;
import dev.sumac.worker.RankLostException;
import dev.sumac.worker.SumacException;
import dev.sumac.worker.SwitchLostException;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What goes wrong is an error with a name, at every rank, in bounded time. */
@Timeout(60)
final class FailureTest {
  private static final Duration SHORT = Duration.ofMillis(700);

  /** Case 9. */
  @Test
  void ranksThatDisagreeAboutTheLengthBothLearnBothLengths() throws Exception {
    mismatch(
        rank -> new float[rank == 1 ? 409_598 : 409_600],
        OperationKind.SUM,
        OperationKind.SUM,
        "409600 x float32",
        "409598 x float32");
  }

  /** Case 9: a shorter operation that ends where the longer one goes on. */
  @Test
  void ranksThatDisagreeByWholePacketsBothLearnBothLengths() throws Exception {
    mismatch(
        rank -> new float[rank == 1 ? 2_560 : 5_120],
        OperationKind.SUM,
        OperationKind.SUM,
        "2560 x float32",
        "5120 x float32");
  }

  /** Case 9. */
  @Test
  void ranksThatDisagreeAboutTheKindBothLearnBothKinds() throws Exception {
    mismatch(rank -> new float[8], OperationKind.MIN, OperationKind.MAX, "MIN of 8", "MAX of 8");
  }

  private interface Tensor {
    float[] of(int rank);
  }

  private static void mismatch(
      Tensor tensor, OperationKind kind0, OperationKind kind1, String textA, String textB)
      throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                communicator.allReduce(
                    tensor.of(communicator.rank()), communicator.rank() == 0 ? kind0 : kind1);
                return "no error";
              });
      for (Object outcome : outcomes) {
        String message = assertInstanceOf(OperationMismatchException.class, outcome).getMessage();
        assertTrue(message.contains(textA) && message.contains(textB), message);
        assertTrue(message.contains("rank 0") && message.contains("rank 1"), message);
      }
    }
  }

  @Test
  void aFloatAndAnIntegerCallAreAMismatch() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                if (communicator.rank() == 0) {
                  communicator.allReduce(new float[8], OperationKind.MAX);
                } else {
                  communicator.allReduce(new int[8], OperationKind.MAX);
                }
                return "no error";
              });
      outcomes.forEach(outcome -> assertInstanceOf(OperationMismatchException.class, outcome));
    }
  }

  /** Cases 20 and 36, without the process: a rank's connections vanish. */
  @Test
  void aRankThatFailsIsNamedToTheOthersAndItsSlotsComeBack() throws Exception {
    try (LocalJob job =
        new LocalJob(
            3,
            options -> options.slots(64),
            options -> options.window(64).timeout(Duration.ofSeconds(5)))) {
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                communicator.allReduce(new int[100]);
                if (communicator.rank() == 2) {
                  Thread.currentThread().interrupt();
                }
                // The operation in which rank 2 is interrupted may still complete; the next one
                // can't.
                communicator.allReduce(new int[1]);
                communicator.allReduce(new int[1]);
                return "no error";
              });
      for (int rank = 0; rank < 2; rank++) {
        assertEquals(2, assertInstanceOf(RankLostException.class, outcomes.get(rank)).rank());
      }
      String interrupted = assertInstanceOf(SumacException.class, outcomes.get(2)).getMessage();
      assertTrue(interrupted.contains("interrupted"), interrupted);
      // All slots are needed again: the next run starts only if they came back.
      job.run(
          communicator -> {
            assertEquals(64, communicator.window());
            return null;
          });
    }
  }

  /** Case 24. */
  @Test
  void aRankThatLeavesEarlyIsNamedToThoseThatWaitForIt() throws Exception {
    try (LocalJob job = new LocalJob(3)) {
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                int operations = communicator.rank() == 2 ? 9 : 10;
                for (int i = 0; i < operations; i++) {
                  communicator.allReduce(new int[3]);
                }
                return operations;
              });
      assertEquals(9, outcomes.get(2));
      for (int rank = 0; rank < 2; rank++) {
        RankLostException lost =
            assertInstanceOf(RankLostException.class, outcomes.get(rank), "rank " + rank);
        assertEquals(2, lost.rank());
        assertTrue(lost.getMessage().contains("after 9 operations"), lost.getMessage());
      }
    }
  }

  /** Case 29: the limit holds when nothing answers. */
  @Test
  void anOperationThatOtherRanksDoNotCallEndsAtItsLimit() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      CountDownLatch waited = new CountDownLatch(1);
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                try {
                  if (communicator.rank() == 0) {
                    FloatBuffer one = FloatBuffer.allocate(1);
                    long startNs = System.nanoTime();
                    OperationTimeoutException timeout =
                        assertThrows(
                            OperationTimeoutException.class,
                            () ->
                                communicator.allReduce(
                                    one, one, OperationKind.SUM, Duration.ofMillis(300)));
                    assertTrue(System.nanoTime() - startNs >= 300_000_000);
                    assertTrue(
                        timeout.getMessage().contains("0 of 1 chunks"), timeout.getMessage());
                    // Final: a later call fails the same way at once.
                    assertThrows(
                        OperationTimeoutException.class, () -> communicator.allReduce(new int[1]));
                  } else {
                    waited.await();
                  }
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                } finally {
                  waited.countDown();
                }
                return "done";
              });
      assertEquals(List.of("done", "done"), outcomes);
    }
  }

  @Test
  void aClosedSwitchIsNoticedByRanksThatWait() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      CountDownLatch waiting = new CountDownLatch(1);
      List<Future<Object>> futures =
          job.start(
              rank -> {
                try (Communicator communicator = Communicator.open(job.config(rank).build())) {
                  if (rank == 1) {
                    waiting.await();
                    job.aggregationSwitch().close();
                  }
                  waiting.countDown();
                  communicator.allReduce(new int[1]);
                  if (rank == 0) {
                    communicator.allReduce(new int[1]);
                  }
                  return "no error";
                } catch (SumacException e) {
                  return e;
                }
              });
      for (Object outcome : LocalJob.results(futures)) {
        assertInstanceOf(SwitchLostException.class, outcome);
      }
    }
  }

  @Test
  void closingFailsOperationsInFlightAndLaterCalls() throws Exception {
    CountDownLatch rankZeroIsDone = new CountDownLatch(1);
    try (LocalJob job = new LocalJob(2)) {
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                if (communicator.rank() == 1) {
                  await(
                      () ->
                          rankZeroIsDone.getCount() == 0); // Or rank 0 would hear that it has left.
                } else {
                  CompletableFuture<Void> pending =
                      communicator.allReduceAsync(new int[9], new int[9], OperationKind.SUM);
                  communicator.close();
                  CompletionException failed =
                      assertThrows(CompletionException.class, pending::join);
                  assertInstanceOf(CommunicatorClosedException.class, failed.getCause());
                  assertThrows(
                      CommunicatorClosedException.class, () -> communicator.allReduce(new int[1]));
                  rankZeroIsDone.countDown();
                }
                return "done";
              });
      assertEquals(List.of("done", "done"), outcomes);
    }
  }

  /** Case 3. */
  @Test
  void partlyOverlappingAndReadOnlyBuffersAreRefusedBeforeAnythingIsSent() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      job.run(
          communicator -> {
            float[] array = new float[12];
            FloatBuffer low = FloatBuffer.wrap(array, 0, 8);
            FloatBuffer high = FloatBuffer.wrap(array, 4, 8);
            IllegalArgumentException overlap =
                assertThrows(
                    IllegalArgumentException.class,
                    () -> communicator.allReduce(low, high, OperationKind.SUM));
            assertTrue(overlap.getMessage().contains("overlap by 4"), overlap.getMessage());
            assertThrows(
                IllegalArgumentException.class,
                () -> communicator.allReduce(low, low.asReadOnlyBuffer(), OperationKind.SUM));
            assertThrows(
                IllegalArgumentException.class,
                () -> communicator.allReduce(new int[3], new int[4], OperationKind.SUM));
            assertEquals(0, communicator.stats().operations());
            return null;
          });
    }
  }

  @Test
  void missingRanksAreNamed() throws Exception {
    try (LocalJob job = new LocalJob(3)) {
      JoinException failure =
          assertThrows(
              JoinException.class, () -> Communicator.open(job.config(1).timeout(SHORT).build()));
      assertTrue(failure.getMessage().contains("ranks [0, 2] of 3"), failure.getMessage());
    }
  }

  @Test
  void refusalsNameBothValuesAndTheOption() throws Exception {
    try (LocalJob job =
        new LocalJob(2, options -> options.elementsPerPacket(64), UnaryOperator.identity())) {
      CountDownLatch refusalsSeen = new CountDownLatch(1);
      List<Future<Integer>> ranks =
          job.start(
              rank -> {
                if (rank == 1) {
                  refusalsSeen.await();
                }
                CommunicatorConfig config =
                    job.config(rank).token("right").timeout(Duration.ofSeconds(40)).build();
                try (Communicator communicator = Communicator.open(config)) {
                  return communicator.rank();
                }
              });
      HostPort address = new HostPort("127.0.0.1", job.aggregationSwitch().port());
      await(
          () ->
              SwitchStatus.of(address).getJobsList().stream()
                  .anyMatch(status -> status.getMissingRanksList().equals(List.of(1))));
      refused(job.config(1).token("wrong"), "token", "--token");
      refused(job.config(1).token("right").window(8), "8", "512", "--window");
      refused(
          job.config(1).token("right").elementsPerPacket(256),
          "256",
          "64",
          "--elements-per-packet");
      refused(job.config(1).token("right").worldSize(5), "5", "2", "--world");
      refused(job.config(0).token("right"), "rank 0", "taken", "--rank");
      refusalsSeen.countDown();
      assertEquals(List.of(0, 1), LocalJob.results(ranks));
    }
  }

  private static void await(BooleanSupplier condition) {
    long deadlineNs = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadlineNs, "the condition never came true");
    }
  }

  private static void refused(CommunicatorConfig.Builder config, String... parts) {
    JoinException failure =
        assertThrows(
            JoinException.class,
            () -> Communicator.open(config.timeout(Duration.ofSeconds(20)).build()));
    for (String part : parts) {
      assertTrue(failure.getMessage().contains(part), failure.getMessage());
    }
  }

  /** Case 27. */
  @Test
  void aSwitchThatIsNotThereIsNamedWithItsAddress() throws IOException {
    int port;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
      // A bound socket that never answers: a black hole.
      JoinException silent = join(port);
      assertTrue(silent.getMessage().contains("127.0.0.1:" + port), silent.getMessage());
      assertTrue(silent.getMessage().contains("does not answer"), silent.getMessage());
    }
    JoinException refused = join(port);
    assertTrue(refused.getMessage().contains("Connection refused"), refused.getMessage());
  }

  @Test
  void anUnknownHostIsNamed() {
    JoinException failure =
        assertThrows(
            JoinException.class,
            () ->
                Communicator.open(
                    CommunicatorConfig.builder().switchAddress("no.such.host.invalid", 1).build()));
    assertTrue(failure.getMessage().contains("no.such.host.invalid"), failure.getMessage());
  }

  private static JoinException join(int port) {
    return assertThrows(
        JoinException.class,
        () ->
            Communicator.open(
                CommunicatorConfig.builder()
                    .switchAddress("127.0.0.1", port)
                    .timeout(SHORT)
                    .build()));
  }

  /** Case 42. */
  @Test
  void aPortInUseIsNamed() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      int port = job.aggregationSwitch().port();
      IOException failure =
          assertThrows(
              IOException.class,
              () -> AggregationSwitch.start(SwitchConfig.builder().port(port).build()));
      assertTrue(failure.getMessage().contains("port " + port), failure.getMessage());
    }
  }

  /** Cases 43 and 22: two jobs at once, and each run again. */
  @Test
  void jobsDoNotDisturbEachOtherAndCanRunAgain() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      for (int run = 0; run < 5; run++) {
        List<Future<int[]>> other =
            job.start(
                rank -> {
                  try (Communicator communicator =
                      Communicator.open(job.config(rank).job("other").build())) {
                    int[] values = {rank + 1, 5};
                    communicator.allReduce(values);
                    return values;
                  }
                });
        List<int[]> sums =
            job.run(
                communicator -> {
                  int[] values = {communicator.rank() + 10, 7};
                  communicator.allReduce(values);
                  return values;
                });
        sums.forEach(sum -> assertArrayEquals(new int[] {21, 14}, sum));
        LocalJob.results(other).forEach(sum -> assertArrayEquals(new int[] {3, 10}, sum));
      }
    }
  }

  /** Hostile datagrams: counted by reason, nothing else happens to the job beside them. */
  @Test
  void garbageAtTheDataPortIsCountedAndDisturbsNobody() throws Exception {
    try (LocalJob job = new LocalJob(2);
        DatagramSocket stranger = new DatagramSocket()) {
      stranger.setSoTimeout(50);
      AggregationSwitch target = job.aggregationSwitch();
      SplittableRandom random = new SplittableRandom(1);
      job.run(
          communicator -> {
            for (int i = 0; i < 50; i++) {
              if (communicator.rank() == 0) {
                for (int k = 0; k < 40; k++) {
                  byte[] bytes = new byte[random.nextInt(2_000)];
                  random.nextBytes(bytes);
                  if (bytes.length > 9 && k % 2 == 0) {
                    bytes[8] = 'S';
                    bytes[9] = 'M';
                  }
                  stranger.send(
                      new DatagramPacket(
                          bytes,
                          bytes.length,
                          InetAddress.getLoopbackAddress(),
                          target.shardPorts().get(0)));
                }
              }
              int[] values = new int[1_000];
              values[999] = i;
              communicator.allReduce(values);
              assertEquals(2 * i, values[999]);
            }
            return null;
          });
      long malformed =
          target.count(Counter.MALFORMED_TOO_SHORT)
              + target.count(Counter.MALFORMED_BAD_MAGIC)
              + target.count(Counter.MALFORMED_UNKNOWN_VERSION);
      assertTrue(malformed > 1_000, "malformed " + malformed);
      DatagramPacket answer = new DatagramPacket(new byte[2_000], 2_000);
      assertThrows(java.net.SocketTimeoutException.class, () -> stranger.receive(answer));
    }
  }
}
