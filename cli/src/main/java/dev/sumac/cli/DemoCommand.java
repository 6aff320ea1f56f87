package dev.sumac.cli;

import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.reliability.FaultSpec;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLongArray;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code sumac demo}: a switch and its workers as processes of this machine, a real network's
 * gradients, every sum checked.
 */
@Command(
    name = "demo",
    description = {
      "Starts a switch and workers as processes on this machine, all-reduces the gradients of a real",
      "network tensor by tensor, checks every element, prints a table. Exit code 1 if any check fails."
    },
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    sortOptions = false)
final class DemoCommand implements Callable<Integer> {
  private static final long READY_SECONDS = 20;
  private static final long LAST_WORDS_SECONDS = 2;

  @Option(
      names = "--model",
      description = "Whose tensors: resnet50, vgg16 or bert-base.",
      defaultValue = "resnet50")
  private String modelName;

  @Option(names = "--workers", description = "Number of workers.", defaultValue = "4")
  private int workers;

  @Option(
      names = "--loss",
      description = "Share of packets that are lost, each way.",
      defaultValue = "0")
  private double loss;

  @Option(
      names = "--faults",
      description = "More faults: burst=N,duplicate=P,reorder=P,delay-us=N,damage=P,seed=N.",
      defaultValue = "")
  private String faults;

  @Option(
      names = "--mtu",
      description = "Network's MTU in bytes; a packet gets as many elements as fit.",
      defaultValue = "1500")
  private int mtu;

  @Option(
      names = "--slots",
      description = "Slots of the switch.",
      defaultValue = "" + SwitchConfig.DEFAULT_SLOTS)
  private int slots;

  @Option(names = "--shards", description = "Shards of the switch.", defaultValue = "1")
  private int shards;

  @Option(
      names = "--window",
      description = "Chunks in flight that the workers ask for.",
      defaultValue = "512")
  private int window;

  @Option(
      names = "--release",
      description = "When the switch may overwrite a result: two_version or acknowledged.",
      defaultValue = "two_version")
  private String release;

  @Option(
      names = "--authenticate",
      description = "Every data packet carries an authentication tag.")
  private boolean authenticate;

  @Option(
      names = "--steps",
      description = "Training steps: how often the whole network's gradients are reduced.",
      defaultValue = "3")
  private int steps;

  @Option(names = "--seed", description = "Seed of the gradients.", defaultValue = "1")
  private long seed;

  @Option(
      names = "--timeout",
      description = "Time limit in seconds, of joining and of each operation.",
      defaultValue = "10")
  private double timeoutSeconds;

  private AtomicLongArray progress;

  @Override
  public Integer call() throws Exception {
    Model model = Model.ofLabel(modelName);
    require(model != null, "--model " + modelName + " (resnet50, vgg16, bert-base)");
    require(workers >= 1 && workers <= 64, "--workers " + workers + " (1 to 64)");
    require(steps >= 1 && steps <= 1_000, "--steps " + steps + " (1 to 1000)");
    require(loss >= 0 && loss < 1, "--loss " + loss + " (0 to less than 1)");
    String faultText = "loss=" + loss + (faults.isEmpty() ? "" : "," + faults);
    FaultSpec faultSpec = FaultSpec.parse(faultText);
    // Refuses bad values here, in one line, before any process runs.
    SwitchConfig.builder().slots(slots).shards(shards).build();
    progress = new AtomicLongArray(workers);
    try (Children children = new Children()) {
      HostPort address = startSwitch(children, faultSpec);
      return run(children, address, model, faultSpec);
    }
  }

  private HostPort startSwitch(Children children, FaultSpec faultSpec) throws Exception {
    CompletableFuture<HostPort> ready = new CompletableFuture<>();
    children.start(
        List.of(
            "switch",
            "--bind",
            "127.0.0.1",
            "--port",
            "0",
            "--mtu",
            "" + mtu,
            "--slots",
            "" + slots,
            "--shards",
            "" + shards,
            "--faults",
            faultSpec.toText(),
            "--end-with-stdin"),
        line -> {
          if (line != null && line.startsWith("ready ")) {
            ready.complete(HostPort.parse(line.substring("ready ".length())));
          } else if (line == null) {
            ready.completeExceptionally(new IOException("the switch ended; its error is above"));
          }
        });
    try {
      return ready.get(READY_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IOException(e.getCause().getMessage(), e);
    } catch (TimeoutException e) {
      throw new IOException("the switch was not ready in " + READY_SECONDS + " s", e);
    }
  }

  private int run(Children children, HostPort address, Model model, FaultSpec faultSpec)
      throws Exception {
    String token = Long.toHexString(new SecureRandom().nextLong());
    List<Integer> sizes = model.tensorSizes();
    long elements = sizes.stream().mapToLong(size -> size).sum();
    System.out.printf(
        "%s: %d tensors, %,d float32 values; %d workers, %d steps, %s loss each way%n",
        model, sizes.size(), elements, workers, steps, loss == 0 ? "no" : loss * 100 + " %");
    List<CompletableFuture<DemoReport>> reports = new ArrayList<>();
    List<Process> processes = new ArrayList<>();
    for (int rank = 0; rank < workers; rank++) {
      CompletableFuture<DemoReport> report = new CompletableFuture<>();
      int thisRank = rank;
      processes.add(
          children.start(
              workerArguments(rank, address, model, token, faultSpec),
              line -> onWorkerLine(thisRank, line, report)));
      reports.add(report);
    }
    boolean allReported = awaitReports(reports, elements * steps * workers);
    boolean allEnded = awaitEnd(processes);
    if (!allReported || !allEnded) {
      System.err.println("sumac demo: a worker failed; its error is above");
      return 1;
    }
    StatusReply status = SwitchStatus.of(address);
    return DemoTable.print(reports.stream().map(CompletableFuture::join).toList(), sizes, status);
  }

  private List<String> workerArguments(
      int rank, HostPort address, Model model, String token, FaultSpec faultSpec) {
    List<String> arguments = new ArrayList<>();
    if (authenticate) {
      arguments.add("--authenticate");
    }
    List<String> always =
        List.of(
            "demo-worker",
            "--rank",
            "" + rank,
            "--world",
            "" + workers,
            "--switch",
            address.host() + ":" + address.port(),
            "--job",
            "demo",
            "--token",
            token,
            "--window",
            "" + window,
            "--release",
            release,
            "--timeout",
            "" + timeoutSeconds,
            "--model",
            model.name(),
            "--steps",
            "" + steps,
            "--seed",
            "" + seed,
            "--faults",
            faultSpec.withSeed(faultSpec.seed() + 1_000 + rank).toText());
    arguments.addAll(0, always);
    return arguments;
  }

  private void onWorkerLine(int rank, String line, CompletableFuture<DemoReport> report) {
    if (line == null) {
      report.completeExceptionally(new IOException("rank " + rank + " ended without a report"));
    } else if (DemoReport.isLine(line)) {
      report.complete(DemoReport.parse(line));
    } else if (line.startsWith("progress ")) {
      progress.set(rank, Long.parseLong(line.substring("progress ".length())));
    }
  }

  /** Shows progress until every worker has reported, or one has failed. */
  private boolean awaitReports(List<CompletableFuture<DemoReport>> reports, long totalElements)
      throws InterruptedException {
    CompletableFuture<?> all =
        CompletableFuture.allOf(reports.toArray(new CompletableFuture<?>[0]));
    CompletableFuture<Object> first = new CompletableFuture<>();
    all.thenRun(() -> first.complete(null));
    reports.forEach(report -> report.exceptionally(e -> fail(first, e)));
    boolean onTerminal = Boolean.getBoolean("sumac.terminal");
    try (ProgressBar bar = onTerminal ? progressBar(totalElements) : null) {
      while (true) {
        try {
          first.get(100, TimeUnit.MILLISECONDS);
          return true;
        } catch (ExecutionException e) {
          return false;
        } catch (TimeoutException e) {
          if (bar != null) {
            bar.stepTo(progressSum());
          }
        }
      }
    }
  }

  private static DemoReport fail(CompletableFuture<?> first, Throwable reason) {
    first.completeExceptionally(reason);
    return null;
  }

  private static ProgressBar progressBar(long totalElements) {
    return new ProgressBarBuilder()
        .setTaskName("all-reduce")
        .setInitialMax(totalElements)
        .setUnit("M values", 1_000_000)
        .setStyle(ProgressBarStyle.ASCII)
        .setUpdateIntervalMillis(100)
        .build();
  }

  private long progressSum() {
    long sum = 0;
    for (int rank = 0; rank < workers; rank++) {
      sum += progress.get(rank);
    }
    return sum;
  }

  /**
   * Waits for the workers' ends; when one has failed, the others get a moment to say what they saw.
   */
  private static boolean awaitEnd(List<Process> processes) throws InterruptedException {
    boolean good = true;
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(LAST_WORDS_SECONDS);
    for (Process process : processes) {
      boolean ended =
          process.waitFor(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
      good &= ended && process.exitValue() == 0;
    }
    return good;
  }

  private static void require(boolean holds, String message) {
    if (!holds) {
      throw new IllegalArgumentException(message);
    }
  }
}
