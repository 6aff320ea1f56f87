package dev.sumac.cli;

import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import dev.sumac.worker.SumacException;
import java.io.IOException;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * One worker of {@code sumac soak}: reduces tensors of pseudo-random lengths and checks every
 * element, closes and opens again under the same name, also after a failure. Only a wrong sum ends
 * it.
 */
@Command(name = "soak-worker", hidden = true)
final class SoakWorkerCommand implements Callable<Integer> {
  /** Beginning of the line that tells operations, openings and failures so far. */
  static final String PROGRESS = "soak ";

  private static final int MAX_LENGTH = 20_000;
  private static final long RETRY_NS = 100_000_000;
  private static final long PROGRESS_NS = 250_000_000;

  @Mixin private WorkerOptions worker;

  @Option(names = "--seed", defaultValue = "1")
  private long seed;

  @Option(
      names = "--operations",
      description = "Operations before the communicator is closed and opened again.",
      defaultValue = "200")
  private int operations;

  @Option(names = "--openings", description = "Times to open; 0: without end.", defaultValue = "0")
  private long openings;

  private long operationsDone;
  private long opened;
  private long failures;
  private long progressNs;

  @Override
  public Integer call() throws IOException {
    Children.endWithStdin();
    CommunicatorConfig config = worker.config();
    while (openings == 0 || opened < openings) {
      try (Communicator communicator = Communicator.open(config)) {
        opened++;
        for (int operation = 0; operation < operations; operation++) {
          reduce(communicator, operation);
          operationsDone++;
          progress(false);
        }
      } catch (SumacException e) {
        failures++;
        System.out.println("failed " + e.getMessage());
        // A refusal comes at once; the rank that still holds the name needs a moment to go.
        LockSupport.parkNanos(RETRY_NS);
      }
      progress(true);
    }
    return 0;
  }

  private void reduce(Communicator communicator, int operation) {
    long key = seed * 1_000_003 + operation;
    int[] values = new int[new SplittableRandom(key).nextInt(MAX_LENGTH)];
    for (int i = 0; i < values.length; i++) {
      values[i] = value(key, communicator.rank(), i);
    }
    communicator.allReduce(values);
    for (int i = 0; i < values.length; i++) {
      int expected = 0;
      for (int rank = 0; rank < communicator.worldSize(); rank++) {
        expected += value(key, rank, i);
      }
      if (values[i] != expected) {
        throw new IllegalStateException(
            "wrong sum: rank "
                + communicator.rank()
                + ", operation "
                + operation
                + ", element "
                + i
                + " is "
                + values[i]
                + ", should be "
                + expected
                + "; --seed "
                + seed);
      }
    }
  }

  private static int value(long key, int rank, int index) {
    return (int) (((key + index) * 0x9E3779B97F4A7C15L + rank * 0xBF58476D1CE4E5B9L) >>> 32);
  }

  private void progress(boolean isDue) {
    long nowNs = System.nanoTime();
    if (isDue || nowNs - progressNs >= PROGRESS_NS) {
      progressNs = nowNs;
      System.out.println(PROGRESS + operationsDone + " " + opened + " " + failures);
    }
  }
}
