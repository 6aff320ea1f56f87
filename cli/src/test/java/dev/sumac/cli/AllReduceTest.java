package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.Counter;
import dev.sumac.protocol.OperationKind;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.transport.UdpConfig;
import dev.sumac.worker.ReleasePolicy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** AllReduce from end to end: real switch, real workers, real sockets; exact sums. */
final class AllReduceTest {
  private static final int ELEMENTS_PER_PACKET = 64;

  /** Case 4: every number of ranks, lengths about that number; values rank x 1000 + index. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17})
  void sumsAreExactForEveryWorldSize(int worldSize) throws Exception {
    int[] lengths = {1, worldSize - 1, worldSize, worldSize + 1, 2 * worldSize + 1};
    try (LocalJob job = new LocalJob(worldSize)) {
      List<List<int[]>> results =
          job.run(
              communicator -> {
                List<int[]> mine = new ArrayList<>();
                for (int length : lengths) {
                  int[] values = new int[length];
                  Arrays.setAll(values, i -> communicator.rank() * 1_000 + i);
                  communicator.allReduce(values);
                  mine.add(values);
                }
                return mine;
              });
      for (List<int[]> mine : results) {
        for (int i = 0; i < lengths.length; i++) {
          int[] expected = new int[lengths[i]];
          Arrays.setAll(expected, e -> worldSize * (worldSize - 1) / 2 * 1_000 + worldSize * e);
          assertArrayEquals(expected, mine.get(i), "length " + lengths[i]);
        }
      }
    }
  }

  /**
   * Cases 16 and 55: exact at 0, 1, 10 and 30 % loss with duplicates, reordering and damage, in
   * both release policies.
   */
  @ParameterizedTest
  @CsvSource({
    "0,    TWO_VERSION",
    "0.01, TWO_VERSION",
    "0.1,  TWO_VERSION",
    "0.3,  TWO_VERSION",
    "0,    ACKNOWLEDGED",
    "0.01, ACKNOWLEDGED",
    "0.1,  ACKNOWLEDGED",
    "0.3,  ACKNOWLEDGED"
  })
  void int32SumsAreExactUnderLoss(double loss, ReleasePolicy policy) throws Exception {
    FaultSpec faults = new FaultSpec(loss, 1, 0.05, 0.05, 1_000_000, 0.01, 7);
    // With ACKNOWLEDGED at heavy loss nearly every chunk clears the pool: exact, but slow.
    int length = policy == ReleasePolicy.ACKNOWLEDGED && loss > 0.01 ? 4_000 : 40_000;
    int worldSize = 4;
    try (LocalJob job =
        new LocalJob(
            worldSize,
            options -> options.elementsPerPacket(ELEMENTS_PER_PACKET).faults(faults),
            options ->
                options
                    .window(16)
                    .releasePolicy(policy)
                    .timeout(Duration.ofSeconds(40))
                    .faults(faults.withSeed(11)))) {
      List<int[]> results =
          job.run(
              communicator -> {
                int[] values = randomInts(communicator.rank(), length);
                communicator.allReduce(values);
                return values;
              });
      int[] expected = new int[length];
      for (int rank = 0; rank < worldSize; rank++) {
        int[] values = randomInts(rank, length);
        for (int i = 0; i < length; i++) {
          expected[i] += values[i];
        }
      }
      for (int[] result : results) {
        assertArrayEquals(expected, result);
      }
      if (loss > 0) {
        assertTrue(job.aggregationSwitch().count(Counter.MALFORMED_WRONG_CHECK_VALUE) > 0);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(OperationKind.class)
  void everyKindReducesIntegersAsALoopWould(OperationKind kind) throws Exception {
    int length = 5_000;
    try (LocalJob job = new LocalJob(3)) {
      List<int[]> results =
          job.run(
              communicator -> {
                int[] output = new int[length];
                communicator.allReduce(randomInts(communicator.rank(), length), output, kind);
                return output;
              });
      int[] expected = randomInts(0, length);
      for (int rank = 1; rank < 3; rank++) {
        int[] values = randomInts(rank, length);
        for (int i = 0; i < length; i++) {
          expected[i] =
              switch (kind) {
                case SUM -> expected[i] + values[i];
                case MIN -> Math.min(expected[i], values[i]);
                case MAX -> Math.max(expected[i], values[i]);
              };
        }
      }
      results.forEach(result -> assertArrayEquals(expected, result));
    }
  }

  /** Case 6. */
  @Test
  void specialFloatsGiveTheSameDocumentedAnswerOnAllRanks() throws Exception {
    float nan = Float.NaN;
    float inf = Float.POSITIVE_INFINITY;
    float[][] inputs = {
      {1, nan, 2, inf, inf, -0.0f, 1.5f},
      {nan, 1, 2, 1, -inf, 0.0f, 2.5f},
      {3, 1, 2, 1, 1, 0.0f, -4f},
      {4, 1, 2, 1, 1, 0.0f, 8f}
    };
    try (LocalJob job = new LocalJob(4)) {
      List<float[][]> results =
          job.run(
              communicator -> {
                float[] mine = inputs[communicator.rank()];
                float[][] outputs = new float[3][mine.length];
                communicator.allReduce(mine, outputs[0], OperationKind.SUM);
                communicator.allReduce(mine, outputs[1], OperationKind.MIN);
                communicator.allReduce(mine, outputs[2], OperationKind.MAX);
                return outputs;
              });
      for (float[][] outputs : results) {
        assertArrayEquals(new float[] {nan, nan, 8, inf, nan, 0, 8}, outputs[0], 0.01f);
        assertArrayEquals(new float[] {nan, nan, 2, 1, -inf, -0.0f, -4}, outputs[1]);
        assertArrayEquals(new float[] {nan, nan, 2, inf, inf, 0, 8}, outputs[2]);
      }
    }
  }

  /** Case 1. */
  @Test
  void emptyTensorsAreOperationsToo() throws Exception {
    try (LocalJob job = new LocalJob(4)) {
      List<float[]> results =
          job.run(
              communicator -> {
                communicator.allReduce(new float[0]);
                float[] one = {communicator.rank() + 1};
                communicator.allReduce(one);
                communicator.allReduce(new int[0]);
                communicator.allReduce(new float[0]);
                return one;
              });
      results.forEach(result -> assertArrayEquals(new float[] {10}, result));
    }
  }

  /** Case 3: positions and limits, heap and direct, in place and out of place. */
  @Test
  void buffersAreReducedBetweenPositionAndLimit() throws Exception {
    int length = 1_000;
    try (LocalJob job = new LocalJob(3)) {
      job.run(
          communicator -> {
            for (boolean direct : new boolean[] {false, true}) {
              for (ByteOrder order :
                  new ByteOrder[] {ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN}) {
                ByteBuffer bytes =
                    direct
                        ? ByteBuffer.allocateDirect((length + 20) * 4)
                        : ByteBuffer.allocate((length + 20) * 4);
                IntBuffer input = bytes.order(order).asIntBuffer();
                for (int i = 0; i < input.capacity(); i++) {
                  input.put(i, i + communicator.rank());
                }
                input.position(7).limit(7 + length);
                IntBuffer output = IntBuffer.allocate(length + 5);
                output.position(5);
                communicator.allReduce(input, output, OperationKind.SUM);
                assertEquals(7, input.position());
                assertEquals(5, output.position());
                communicator.allReduce(input, input, OperationKind.SUM);
                input.clear();
                for (int i = 0; i < input.capacity(); i++) {
                  boolean reduced = i >= 7 && i < 7 + length;
                  assertEquals(reduced ? 3 * i + 3 : i + communicator.rank(), input.get(i));
                }
                for (int i = 0; i < length; i++) {
                  assertEquals(3 * (i + 7) + 3, output.get(5 + i));
                }
              }
            }
            FloatBuffer floats = FloatBuffer.wrap(new float[] {9, 1, 2, 9}, 1, 2);
            communicator.allReduce(floats, floats, OperationKind.SUM);
            assertArrayEquals(new float[] {9, 3, 6, 9}, floats.array());
            return null;
          });
    }
  }

  @Test
  void severalOperationsAreInFlightAtATime() throws Exception {
    int operations = 200;
    try (LocalJob job =
        new LocalJob(2, options -> options.elementsPerPacket(8), options -> options.window(4))) {
      job.run(
          communicator -> {
            List<int[]> outputs = new ArrayList<>();
            List<float[]> floats = new ArrayList<>();
            List<CompletableFuture<Void>> futures = new ArrayList<>();
            for (int i = 0; i < operations; i++) {
              int[] values = new int[i % 37];
              Arrays.fill(values, i + communicator.rank());
              float[] reals = new float[i % 23];
              Arrays.fill(reals, i);
              outputs.add(values);
              floats.add(reals);
              futures.add(communicator.allReduceAsync(values, values, OperationKind.SUM));
              futures.add(communicator.allReduceAsync(reals, reals, OperationKind.SUM));
            }
            CompletableFuture.allOf(futures.toArray(new CompletableFuture<?>[0])).join();
            for (int i = 0; i < operations; i++) {
              int[] expected = new int[i % 37];
              Arrays.fill(expected, 2 * i + 1);
              assertArrayEquals(expected, outputs.get(i));
              float[] expectedReals = new float[i % 23];
              Arrays.fill(expectedReals, 2f * i);
              assertArrayEquals(expectedReals, floats.get(i));
            }
            return null;
          });
    }
  }

  @ParameterizedTest
  @CsvSource({"1, NIO, 352", "3, BEST, 352", "4, NIO, 2", "1, BEST, 16000", "2, BEST, 2000"})
  void shardsTransportsAndPacketSizesGiveTheSameSum(int shards, UdpConfig.Io io, int elements)
      throws Exception {
    int length = 20_000 + elements;
    try (LocalJob job =
        new LocalJob(
            2,
            options -> options.shards(shards).io(io).elementsPerPacket(elements),
            options -> options.io(io).window(64))) {
      List<float[]> results =
          job.run(
              communicator -> {
                float[] values = new float[length];
                setAll(values, i -> i % 1_000 + communicator.rank());
                communicator.allReduce(values);
                return values;
              });
      float[] expected = new float[length];
      setAll(expected, i -> 2 * (i % 1_000) + 1);
      results.forEach(result -> assertArrayEquals(expected, result));
    }
  }

  /** Law 8: no rank differs in a bit, and neither does a second run. */
  @Test
  void floatSumsHaveTheSameBitsOnAllRanksAndInEveryRun() throws Exception {
    List<float[]> all = new ArrayList<>();
    for (int run = 0; run < 2; run++) {
      try (LocalJob job = new LocalJob(3)) {
        all.addAll(
            job.run(
                communicator -> {
                  SplittableRandom random = new SplittableRandom(communicator.rank());
                  float[] values = new float[10_000];
                  setAll(values, i -> random.nextDouble() - 0.5);
                  communicator.allReduce(values);
                  return values;
                }));
      }
    }
    all.forEach(result -> assertArrayEquals(all.get(0), result));
  }

  private static void setAll(float[] values, IntToDoubleFunction function) {
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) function.applyAsDouble(i);
    }
  }

  private static int[] randomInts(int seed, int length) {
    SplittableRandom random = new SplittableRandom(seed);
    int[] values = new int[length];
    Arrays.setAll(values, i -> random.nextInt());
    return values;
  }
}
