package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.sumac.dataplane.Counter;
import dev.sumac.protocol.OperationKind;
import dev.sumac.worker.Communicator;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What callers hand over: nothing, the same memory twice, numbers that are none. */
@Timeout(60)
final class BuffersTest {
  @TempDir private Path folder;

  @Test
  @Tag("case-1")
  void tensorsOfLengthsZeroFiveZeroLeaveNothingBehind() throws Exception {
    try (LocalJob job = new LocalJob(4)) {
      List<float[]> results =
          job.run(
              communicator -> {
                List<CompletableFuture<Void>> all = new ArrayList<>();
                float[] five = {1, 2, 3, 4, communicator.rank()};
                for (float[] tensor : List.of(new float[0], five, new float[0])) {
                  all.add(communicator.allReduceAsync(tensor, tensor, OperationKind.SUM));
                }
                CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0])).join();
                float[] one = {1};
                communicator.allReduce(one);
                assertEquals(4, one[0]);
                return five;
              });
      results.forEach(five -> assertArrayEquals(new float[] {4, 8, 12, 16, 6}, five));
      HostPort address = new HostPort("127.0.0.1", job.aggregationSwitch().port());
      Conditions.await(
          "all slots free",
          () ->
              SwitchStatus.of(address).getSlotsFree() == SwitchStatus.of(address).getSlotsTotal());
    }
  }

  @Test
  @Tag("case-1")
  void anEmptyFileIsReducedToAnEmptyFile() throws Exception {
    Path input = folder.resolve("empty.npy");
    NpyFileTest.writeInts(input);
    try (LocalJob job = new LocalJob(1)) {
      int code =
          Sumac.commandLine()
              .execute(
                  "allreduce",
                  "--rank",
                  "0",
                  "--world",
                  "1",
                  "--switch",
                  "127.0.0.1:" + job.aggregationSwitch().port(),
                  "--input",
                  input.toString(),
                  "--output",
                  folder.resolve("out.npy").toString());
      assertEquals(0, code);
      assertArrayEquals(Files.readAllBytes(input), Files.readAllBytes(folder.resolve("out.npy")));
    }
  }

  @Test
  @Tag("case-3")
  void inPlaceGivesTheSameBitsAsOutOfPlace() throws Exception {
    int length = 3_000;
    try (LocalJob job = new LocalJob(3)) {
      job.run(
          communicator -> {
            for (OperationKind kind : OperationKind.values()) {
              SplittableRandom random = new SplittableRandom(communicator.rank());
              float[] floats = new float[length];
              int[] ints = new int[length];
              for (int i = 0; i < length; i++) {
                floats[i] = (float) (random.nextDouble() - 0.5);
                ints[i] = random.nextInt();
              }
              float[] floatOutput = new float[length];
              int[] intOutput = new int[length];
              communicator.allReduce(floats, floatOutput, kind);
              communicator.allReduce(ints, intOutput, kind);
              communicator.allReduce(floats, kind);
              communicator.allReduce(ints, kind);
              assertArrayEquals(floatOutput, floats);
              assertArrayEquals(intOutput, ints);
            }
            return null;
          });
    }
  }

  /** Whoever holds the NaN and whoever comes first, the answer is the same. */
  @Test
  @Tag("case-6")
  void noOrderOfArrivalChangesWhatNanAndInfinityGive() throws Exception {
    float nan = Float.NaN;
    float inf = Float.POSITIVE_INFINITY;
    // Columns: NaN at rank 0 only, at the last only, both infinities, one, the 1/NaN/3/4 set.
    float[][] inputs = {
      {nan, 1, inf, 2, 1},
      {2, 2, -inf, inf, nan},
      {3, 3, 1, 3, 3},
      {4, nan, 2, 4, 4}
    };
    float[] sum = {nan, nan, nan, inf, nan};
    float[] min = {nan, nan, -inf, 2, nan};
    float[] max = {nan, nan, inf, inf, nan};
    List<int[]> orders = permutations(4);
    assertEquals(24, orders.size());
    try (LocalJob job = new LocalJob(4)) {
      List<CompletableFuture<Communicator>> opened = new ArrayList<>();
      for (int rank = 0; rank < 4; rank++) {
        opened.add(new CompletableFuture<>());
      }
      List<Future<Object>> ranks =
          job.start(rank -> opened.get(rank).complete(Communicator.open(job.config(rank).build())));
      LocalJob.results(ranks);
      for (int[] order : orders) {
        inOrder(job, opened, order, OperationKind.SUM, inputs, sum);
        inOrder(job, opened, order, OperationKind.MIN, inputs, min);
        inOrder(job, opened, order, OperationKind.MAX, inputs, max);
      }
      opened.forEach(communicator -> communicator.join().close());
    }
  }

  private static void inOrder(
      LocalJob job,
      List<CompletableFuture<Communicator>> communicators,
      int[] order,
      OperationKind kind,
      float[][] inputs,
      float[] expected)
      throws Exception {
    long before = job.aggregationSwitch().count(Counter.CONTRIBUTIONS);
    int sent = 0;
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    List<float[]> outputs = new ArrayList<>();
    for (int rank : order) {
      float[] output = new float[expected.length];
      outputs.add(output);
      futures.add(
          communicators.get(rank).join().allReduceAsync(inputs[rank].clone(), output, kind));
      sent++;
      int arrived = sent;
      Conditions.await(
          "the first packet of rank " + rank,
          () -> job.aggregationSwitch().count(Counter.CONTRIBUTIONS) >= before + arrived);
    }
    CompletableFuture.allOf(futures.toArray(new CompletableFuture<?>[0])).join();
    for (float[] output : outputs) {
      assertArrayEquals(expected, output, kind + " in the order " + Arrays.toString(order));
    }
  }

  private static List<int[]> permutations(int n) {
    List<int[]> all = new ArrayList<>();
    for (int code = 0; code < Math.pow(n, n); code++) {
      int[] order = new int[n];
      int rest = code;
      int seen = 0;
      for (int i = 0; i < n; i++) {
        order[i] = rest % n;
        rest /= n;
        seen |= 1 << order[i];
      }
      if (seen == (1 << n) - 1) {
        all.add(order);
      }
    }
    return all;
  }
}
