package dev.sumac.cli;

import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import dev.sumac.worker.CommunicatorStats;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** One worker of {@code sumac demo}: a process of its own, as a training program would be. */
@Command(name = "demo-worker", hidden = true)
final class DemoWorkerCommand implements Callable<Integer> {
  /** A tensor of this size or more counts as large. */
  static final int LARGE_ELEMENTS = 1 << 20;

  private static final long PROGRESS_NS = 100_000_000;

  @Mixin private WorkerOptions worker;

  @Option(names = "--model", required = true)
  private Model model;

  @Option(names = "--steps", required = true)
  private int steps;

  @Option(names = "--seed", required = true)
  private long seed;

  private final List<Double> stepSeconds = new ArrayList<>();
  private final List<Double> largeSeconds = new ArrayList<>();
  private double generateSeconds;
  private double checkSeconds;
  private long elementsDone;
  private long progressNs;

  @Override
  public Integer call() throws IOException {
    Children.endWithStdin();
    CommunicatorConfig config = worker.config();
    float[][] tensors = allocate();
    long startNs = System.nanoTime();
    try (Communicator communicator = Communicator.open(config)) {
      double joinSeconds = (System.nanoTime() - startNs) / 1e9;
      SumCheck check = new SumCheck(config.worldSize(), communicator.elementsPerPacket());
      for (int step = 0; step < steps; step++) {
        step(communicator, config.rank(), tensors, step, check);
      }
      CommunicatorStats stats = communicator.stats();
      System.out.println(report(communicator, joinSeconds, check, stats).toLine());
      if (check.wrong() > 0) {
        throw new IllegalStateException(
            "rank "
                + config.rank()
                + ": "
                + check.wrong()
                + " elements are wrong; "
                + check.firstWrong());
      }
    }
    return 0;
  }

  private float[][] allocate() {
    return model.tensorSizes().stream().map(size -> new float[size]).toArray(float[][]::new);
  }

  private void step(
      Communicator communicator, int rank, float[][] tensors, int step, SumCheck check) {
    long startNs = System.nanoTime();
    for (int tensor = 0; tensor < tensors.length; tensor++) {
      Gradients.fill(
          tensors[tensor], Gradients.key(seed, step, tensor, rank), Gradients.scale(seed, tensor));
    }
    // Ranks that are still generating would be measured as slow network by those that are not.
    communicator.allReduce(new int[0]);
    long generatedNs = System.nanoTime();
    generateSeconds += (generatedNs - startNs) / 1e9;
    double large = 0;
    for (float[] tensor : tensors) {
      long tensorNs = System.nanoTime();
      communicator.allReduce(tensor);
      long nowNs = System.nanoTime();
      if (tensor.length >= LARGE_ELEMENTS) {
        large += (nowNs - tensorNs) / 1e9;
      }
      progress(tensor.length, nowNs);
    }
    long reducedNs = System.nanoTime();
    stepSeconds.add((reducedNs - generatedNs) / 1e9);
    largeSeconds.add(large);
    for (int tensor = 0; tensor < tensors.length; tensor++) {
      check.check(tensors[tensor], seed, step, tensor);
    }
    checkSeconds += (System.nanoTime() - reducedNs) / 1e9;
  }

  private void progress(int elements, long nowNs) {
    elementsDone += elements;
    if (nowNs - progressNs >= PROGRESS_NS) {
      progressNs = nowNs;
      System.out.println("progress " + elementsDone);
    }
  }

  private DemoReport report(
      Communicator communicator, double joinSeconds, SumCheck check, CommunicatorStats stats) {
    Map<String, Double> numbers = new LinkedHashMap<>();
    numbers.put("join", joinSeconds);
    numbers.put("generate", generateSeconds);
    numbers.put("first-step", stepSeconds.get(0));
    numbers.put("step", medianAfterFirst(stepSeconds));
    numbers.put("large", medianAfterFirst(largeSeconds));
    numbers.put("check", checkSeconds);
    numbers.put("elements", (double) elementsDone);
    numbers.put("wrong", (double) check.wrong());
    numbers.put("worst", check.worstShareOfBound());
    numbers.put("sent", (double) stats.packetsSent());
    numbers.put("again", (double) stats.retransmissions());
    numbers.put("received", (double) stats.packetsReceived());
    numbers.put("dropped", (double) stats.packetsDropped());
    numbers.put("kernel-drops", (double) Math.max(0, stats.kernelDrops()));
    numbers.put("window", (double) communicator.window());
    return new DemoReport(numbers, communicator.latencyNs());
  }

  /**
   * Median of all but the first, in which the JIT compiler still works; of the first if there is no
   * other.
   */
  private static double medianAfterFirst(List<Double> values) {
    double[] sorted =
        values.stream()
            .skip(values.size() > 1 ? 1 : 0)
            .mapToDouble(value -> value)
            .sorted()
            .toArray();
    return Arrays.stream(sorted, (sorted.length - 1) / 2, sorted.length / 2 + 1)
        .average()
        .orElseThrow();
  }
}
