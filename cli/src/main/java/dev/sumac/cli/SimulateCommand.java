package dev.sumac.cli;

import dev.sumac.simulation.Scenario;
import dev.sumac.simulation.Simulator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sumac simulate}: thousands of hostile schedules in virtual time. */
@Command(
    name = "simulate",
    description = {
      "Runs the real switch and the real workers in virtual time, on a network that loses, repeats,",
      "reorders, delays and damages packets, with processes that stop, die and come back; one seed is",
      "one schedule. An oracle checks every sum and every error. Says which seed it objects to, and",
      "how to replay it."
    },
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    sortOptions = false)
final class SimulateCommand implements Callable<Integer> {
  @Option(
      names = "--scenario",
      description = "What kind of trouble: all, or some of ${COMPLETION-CANDIDATES}.",
      completionCandidates = Names.class,
      split = ",",
      paramLabel = "NAME",
      defaultValue = "all")
  private List<String> scenarios;

  @Option(
      names = "--seeds",
      description = "Schedules of each scenario.",
      paramLabel = "N",
      defaultValue = "1000")
  private long seeds;

  @Option(
      names = "--first-seed",
      description = "The first one.",
      paramLabel = "N",
      defaultValue = "1")
  private long firstSeed;

  @Option(
      names = "--threads",
      description = "Schedules at a time (default: processors).",
      paramLabel = "N")
  private Integer threads;

  @Option(
      names = "--trace",
      description = "Run the first seed only, and write down what happens; - for standard output.",
      paramLabel = "FILE")
  private String trace;

  /** Names of scenarios, for help. */
  static final class Names implements Iterable<String> {
    @Override
    public java.util.Iterator<String> iterator() {
      return Arrays.stream(Scenario.values()).map(Scenario::label).iterator();
    }
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (seeds < 1) {
      throw new IllegalArgumentException("--seeds " + seeds + " (at least 1)");
    }
    int threadCount = threads == null ? Runtime.getRuntime().availableProcessors() : threads;
    if (threadCount < 1 || threadCount > 1_024) {
      throw new IllegalArgumentException("--threads " + threadCount + " (1 to 1024)");
    }
    List<Scenario> chosen = chosen();
    quiet();
    if (trace != null) {
      return trace(chosen);
    }
    boolean clean = true;
    for (Scenario scenario : chosen) {
      clean &= run(scenario, threadCount);
    }
    return clean ? 0 : 1;
  }

  private boolean run(Scenario scenario, int threadCount) throws InterruptedException {
    Simulator.Report report;
    if (!Boolean.getBoolean("sumac.terminal")) {
      report = Simulator.run(scenario, firstSeed, seeds, threadCount, done -> {});
    } else {
      try (ProgressBar bar = progressBar(scenario)) {
        LongConsumer onProgress = bar::stepTo;
        report = Simulator.run(scenario, firstSeed, seeds, threadCount, onProgress);
      }
    }
    System.out.printf(
        "%-15s %,8d schedules %,12d packets %,10.0f packets/s %,10.0f s of virtual time  %s%n",
        scenario.label(),
        report.schedules(),
        report.packets(),
        report.packets() / (report.elapsedNs() / 1e9),
        report.virtualNs() / 1e9,
        report.isClean() ? "all right" : "seed " + report.failedSeed() + ": " + report.violation());
    if (!report.isClean()) {
      System.out.printf(
          "replay it: sumac simulate --scenario %s --first-seed %d --trace -%n",
          scenario.label(), report.failedSeed());
    }
    return report.isClean();
  }

  private int trace(List<Scenario> chosen) throws IOException {
    if (chosen.size() != 1) {
      throw new IllegalArgumentException("--trace needs one --scenario, not " + chosen.size());
    }
    String violation;
    if (trace.equals("-")) {
      violation = Simulator.trace(chosen.get(0), firstSeed, System.out);
    } else {
      try (var file = Files.newBufferedWriter(Path.of(trace))) {
        violation = Simulator.trace(chosen.get(0), firstSeed, file);
      } catch (UncheckedIOException e) {
        throw e.getCause();
      }
    }
    System.out.println(violation == null ? "all right" : violation);
    return violation == null ? 0 : 1;
  }

  private List<Scenario> chosen() {
    if (scenarios.size() == 1 && scenarios.get(0).equalsIgnoreCase("all")) {
      return List.of(Scenario.values());
    }
    return scenarios.stream().map(SimulateCommand::scenario).toList();
  }

  private static Scenario scenario(String name) {
    return Stream.of(Scenario.values())
        .filter(scenario -> scenario.label().equals(name.toLowerCase(Locale.ROOT)))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "--scenario "
                        + name
                        + " (all, "
                        + Arrays.stream(Scenario.values())
                            .map(Scenario::label)
                            .collect(Collectors.joining(", "))
                        + ")"));
  }

  /** The switch's log says the same things in every schedule. */
  private static void quiet() {
    ((ch.qos.logback.classic.Logger) LoggerFactory.getLogger("dev.sumac"))
        .setLevel(ch.qos.logback.classic.Level.ERROR);
  }

  private ProgressBar progressBar(Scenario scenario) {
    return new ProgressBarBuilder()
        .setTaskName(scenario.label())
        .setInitialMax(seeds)
        .setStyle(ProgressBarStyle.ASCII)
        .setUpdateIntervalMillis(200)
        .clearDisplayOnFinish()
        .build();
  }
}
