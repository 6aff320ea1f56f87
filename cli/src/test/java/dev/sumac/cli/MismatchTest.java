package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.OperationKind;
import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Refused;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.JoinException;
import dev.sumac.worker.OperationMismatchException;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranks, or a rank and the switch, that do not mean the same thing. */
@Timeout(60)
final class MismatchTest {
  @Test
  @Tag("case-8")
  void aPacketTooLargeForTheSwitchIsRefusedAtOnceAndOtherJobsGoOn() throws Exception {
    try (LocalJob job =
        new LocalJob(2, options -> options.elementsPerPacket(64), UnaryOperator.identity())) {
      CountDownLatch refused = new CountDownLatch(1);
      List<Future<int[]>> others =
          job.start(
              rank -> {
                try (Communicator communicator = Communicator.open(job.config(rank).build())) {
                  refused.await();
                  int[] values = {rank + 1};
                  communicator.allReduce(values);
                  return values;
                }
              });
      long startNs = System.nanoTime();
      JoinException failure =
          assertThrows(
              JoinException.class,
              () ->
                  Communicator.open(
                      job.config(0).job("large packets").elementsPerPacket(256).build()));
      long tookMs = (System.nanoTime() - startNs) / 1_000_000;
      assertTrue(tookMs < 1_000, "refused after " + tookMs + " ms");
      assertEquals(
          "the switch refused: 256 elements a packet at the worker, room for 64 at the switch:"
              + " option --elements-per-packet of either",
          failure.getMessage());
      refused.countDown();
      LocalJob.results(others).forEach(sum -> assertArrayEquals(new int[] {3}, sum));
    }
  }

  @Test
  @Tag("case-8")
  void anotherProtocolVersionIsRefusedWithBothVersions() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      ManagedChannel channel =
          Grpc.newChannelBuilderForAddress(
                  "127.0.0.1", job.aggregationSwitch().port(), InsecureChannelCredentials.create())
              .build();
      try {
        CompletableFuture<SwitchMessage> answer = new CompletableFuture<>();
        StreamObserver<WorkerMessage> requests =
            ControlGrpc.newStub(channel).join(new FirstMessage(answer));
        requests.onNext(
            WorkerMessage.newBuilder()
                .setJoin(
                    JoinRequest.newBuilder()
                        .setProtocolVersion(999)
                        .setJob("default")
                        .setWorldSize(1)
                        .setWindow(1))
                .build());
        Refused refused = answer.get(10, TimeUnit.SECONDS).getRefused();
        assertEquals(Refused.Reason.PROTOCOL_VERSION, refused.getReason());
        assertTrue(refused.getText().contains("999 at the worker"), refused.getText());
      } finally {
        channel.shutdownNow();
      }
    }
  }

  private record FirstMessage(CompletableFuture<SwitchMessage> answer)
      implements StreamObserver<SwitchMessage> {
    @Override
    public void onNext(SwitchMessage message) {
      answer.complete(message);
    }

    @Override
    public void onError(Throwable error) {
      answer.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
      answer.completeExceptionally(new IllegalStateException("no message"));
    }
  }

  /** Lengths of rank 0 and of the others, each from a public report of a hang or a wrong tail. */
  @ParameterizedTest
  @Tag("case-9")
  @CsvSource({
    // https://github.com/NVIDIA/nccl/issues/1417
    "409600, 32768000",
    "409600, 409598",
    // https://github.com/NVIDIA/nccl/issues/1394
    "2560, 5120",
    "256000, 512000",
    // https://github.com/pytorch/pytorch/issues/140563
    "1025, 262144"
  })
  void allEightRanksLearnBothLengthsAndTheOddRank(int odd, int others) throws Exception {
    float[] oddInput = new float[odd];
    float[] otherInput = new float[others];
    // What a failed operation leaves in its output is undefined, so the ranks may share one.
    float[] oddOutput = new float[odd];
    float[] otherOutput = new float[others];
    allLearn(
        communicator -> {
          boolean isOdd = communicator.rank() == 0;
          communicator.allReduce(
              isOdd ? oddInput : otherInput, isOdd ? oddOutput : otherOutput, OperationKind.SUM);
        },
        odd + " x float32",
        others + " x float32");
  }

  @Test
  @Tag("case-9")
  void allEightRanksLearnBothTypes() throws Exception {
    allLearn(
        communicator -> {
          if (communicator.rank() == 0) {
            communicator.allReduce(new int[100], OperationKind.MAX);
          } else {
            communicator.allReduce(new float[100], OperationKind.MAX);
          }
        },
        "100 x int32",
        "100 x float32");
  }

  @Test
  @Tag("case-9")
  void allEightRanksLearnBothKinds() throws Exception {
    allLearn(
        communicator ->
            communicator.allReduce(
                new int[9], communicator.rank() == 0 ? OperationKind.SUM : OperationKind.MAX),
        "SUM of 9",
        "MAX of 9");
  }

  private interface Call {
    void at(Communicator communicator);
  }

  private static void allLearn(Call call, String oddValue, String otherValue) throws Exception {
    try (LocalJob job =
        new LocalJob(
            8,
            UnaryOperator.identity(),
            options -> options.window(64).timeout(Duration.ofSeconds(20)))) {
      List<Object> outcomes =
          job.outcomes(
              communicator -> {
                call.at(communicator);
                return "no error";
              });
      for (Object outcome : outcomes) {
        String message = assertInstanceOf(OperationMismatchException.class, outcome).getMessage();
        assertTrue(message.contains(oddValue) && message.contains(otherValue), message);
        assertTrue(message.contains("rank 0 "), message);
      }
      // The name is free again.
      job.run(
          communicator -> {
            int[] values = {1};
            communicator.allReduce(values);
            assertEquals(8, values[0]);
            return null;
          });
    }
  }
}
