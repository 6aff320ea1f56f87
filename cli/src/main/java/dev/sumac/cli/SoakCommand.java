package dev.sumac.cli;

import dev.sumac.protocol.control.StatusReply;
import dev.sumac.reliability.FaultSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code sumac soak}: a switch and three jobs as processes for as long as one likes, on a lossy
 * network, workers killed at random. Ends with a table of what the long-lived processes held.
 */
@Command(
    name = "soak",
    hidden = true,
    description = {
      "Runs a switch and three jobs under loss, kills workers at random, checks every sum, and samples",
      "memory, threads, descriptors and free slots. Exit code 1: a wrong sum, a hang, a leak."
    },
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    sortOptions = false)
final class SoakCommand implements Callable<Integer> {
  private static final long READY_SECONDS = 20;
  private static final long HANG_NS = 45_000_000_000L;
  private static final long START_NS = 120_000_000_000L;
  private static final long SLOTS_BACK_NS = 15_000_000_000L;
  private static final int STATUS_ATTEMPTS = 20;
  private static final int[] WORLD_SIZES = {2, 3, 4};

  @Option(names = "--minutes", description = "How long.", defaultValue = "10")
  private double minutes;

  @Option(names = "--loss", description = "Share of packets lost each way.", defaultValue = "0.01")
  private double loss;

  @Option(names = "--sample", description = "Seconds between samples.", defaultValue = "15")
  private double sampleSeconds;

  @Option(
      names = "--kill",
      description = "Mean number of seconds between kills; 0: none.",
      defaultValue = "7")
  private double killSeconds;

  @Option(names = "--seed", description = "Seed of faults, data and kills.", defaultValue = "1")
  private long seed;

  private final AtomicReference<String> wrong = new AtomicReference<>();
  private final List<SoakWorker> workers = new ArrayList<>();
  private HostPort address;

  @Override
  public Integer call() throws Exception {
    require(minutes > 0 && minutes <= 100_000, "--minutes " + minutes + " (more than 0)");
    require(loss >= 0 && loss < 1, "--loss " + loss + " (0 to less than 1)");
    require(sampleSeconds > 0, "--sample " + sampleSeconds + " (more than 0 seconds)");
    require(killSeconds >= 0, "--kill " + killSeconds + " (0 or more seconds)");
    System.out.printf(
        Locale.ROOT,
        "soak: %.1f minutes, %.1f %% loss each way, seed %d%n",
        minutes,
        loss * 100,
        seed);
    try (Children children = new Children()) {
      Process theSwitch = startSwitch(children);
      for (int job = 0; job < WORLD_SIZES.length; job++) {
        for (int rank = 0; rank < WORLD_SIZES[job]; rank++) {
          workers.add(new SoakWorker(job, rank));
        }
      }
      for (SoakWorker worker : workers) {
        worker.start(children);
      }
      SoakTable table = new SoakTable();
      String failure = soak(children, theSwitch, table);
      for (SoakWorker worker : workers) {
        worker.process.destroyForcibly().waitFor();
      }
      if (failure == null) {
        failure = awaitSlots();
      }
      table.print();
      System.out.printf(
          "%d operations checked, %d openings, %d failures told, %d kills%n",
          workers.stream().mapToLong(worker -> worker.operations()).sum(),
          workers.stream().mapToLong(worker -> worker.openings()).sum(),
          workers.stream().mapToLong(worker -> worker.failures()).sum(),
          workers.stream().mapToLong(worker -> worker.kills).sum());
      if (failure == null) {
        failure = table.growth();
      }
      System.out.println(failure == null ? "soak: all good" : "soak: " + failure);
      return failure == null ? 0 : 1;
    }
  }

  /** Until the time is up; what went wrong, or null. */
  private String soak(Children children, Process theSwitch, SoakTable table) throws Exception {
    SplittableRandom random = new SplittableRandom(seed);
    String slow = awaitBeginning();
    if (slow != null) {
      return slow;
    }
    long startNs = System.nanoTime();
    long endNs = startNs + (long) (minutes * 60e9);
    long sampleNs = startNs + (long) (sampleSeconds * 1e9);
    long killNs = startNs + killDelayNs(random);
    while (System.nanoTime() < endNs) {
      TimeUnit.MILLISECONDS.sleep(100);
      long nowNs = System.nanoTime();
      if (wrong.get() != null) {
        return wrong.get();
      }
      if (!theSwitch.isAlive()) {
        return "the switch has ended with exit code " + theSwitch.exitValue();
      }
      for (SoakWorker worker : workers) {
        if (!worker.process.isAlive()) {
          return worker + " has ended with exit code " + worker.process.exitValue();
        }
        long limitNs = worker.hasBegun() ? HANG_NS : START_NS;
        if (nowNs - worker.progressNs > limitNs) {
          return worker + " hangs: no progress in " + limitNs / 1_000_000_000 + " s";
        }
      }
      if (killSeconds > 0 && nowNs >= killNs) {
        killNs = nowNs + killDelayNs(random);
        kill(children, random);
      }
      if (nowNs >= sampleNs) {
        sampleNs = nowNs + (long) (sampleSeconds * 1e9);
        StatusReply status = status();
        table.add(
            (nowNs - startNs) / 1e9,
            ProcessUse.of(theSwitch.pid()),
            ProcessUse.of(workers.get(0).process.pid()),
            status.getSlotsFree());
      }
    }
    return wrong.get();
  }

  /** Waits until every job runs; who did not begin, or null. */
  private String awaitBeginning() throws InterruptedException {
    long deadlineNs = System.nanoTime() + START_NS;
    for (SoakWorker worker : workers) {
      while (!worker.hasBegun()) {
        if (System.nanoTime() > deadlineNs || !worker.process.isAlive()) {
          return worker + " did not begin";
        }
        TimeUnit.MILLISECONDS.sleep(20);
      }
    }
    return null;
  }

  /** Kills a worker of any job but the first, whose workers live as long as the soak. */
  private void kill(Children children, SplittableRandom random)
      throws IOException, InterruptedException {
    SoakWorker victim =
        workers.get(WORLD_SIZES[0] + random.nextInt(workers.size() - WORLD_SIZES[0]));
    victim.process.destroyForcibly().waitFor();
    victim.kills++;
    victim.start(children);
  }

  private long killDelayNs(SplittableRandom random) {
    return (long) (killSeconds * 1e9 * (0.5 + random.nextDouble()));
  }

  /** A busy machine may answer late; no answer at all is a failure. */
  private StatusReply status() {
    for (int attempt = 1; ; attempt++) {
      try {
        return SwitchStatus.of(address);
      } catch (IllegalStateException e) {
        if (attempt == STATUS_ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  /** Every worker is gone: what went wrong, or null when every slot is free again. */
  private String awaitSlots() throws InterruptedException {
    long deadlineNs = System.nanoTime() + SLOTS_BACK_NS;
    StatusReply status;
    do {
      status = status();
      if (status.getSlotsFree() == status.getSlotsTotal()) {
        return null;
      }
      TimeUnit.MILLISECONDS.sleep(50);
    } while (System.nanoTime() < deadlineNs);
    return "slots are not back: "
        + status.getSlotsFree()
        + " of "
        + status.getSlotsTotal()
        + " are free after every worker has ended";
  }

  private Process startSwitch(Children children) throws Exception {
    CompletableFuture<HostPort> ready = new CompletableFuture<>();
    Process process =
        children.start(
            List.of(
                "switch",
                "--bind",
                "127.0.0.1",
                "--port",
                "0",
                "--slots",
                "512",
                "--faults",
                faults(0),
                "--end-with-stdin"),
            line -> {
              if (line == null) {
                ready.completeExceptionally(
                    new IOException("the switch ended; its error is above"));
              } else if (line.startsWith("ready ")) {
                ready.complete(HostPort.parse(line.substring("ready ".length())));
              }
            });
    try {
      address = ready.get(READY_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IOException(e.getCause().getMessage(), e);
    } catch (TimeoutException e) {
      throw new IOException("the switch was not ready in " + READY_SECONDS + " s", e);
    }
    return process;
  }

  private String faults(int number) {
    return new FaultSpec(loss, 1, 0, 0, 1_000_000, 0, seed + number).toText();
  }

  private static void require(boolean holds, String message) {
    if (!holds) {
      throw new IllegalArgumentException(message);
    }
  }

  /** One rank of one job; its process may change. */
  private final class SoakWorker {
    private final int job;
    private final int rank;
    private Process process;
    private long kills;
    private volatile long progressNs;
    // Of the processes before, and of the one that runs: operations, openings, failures.
    private final long[] before = new long[3];
    private final long[] now = new long[3];

    SoakWorker(int job, int rank) {
      this.job = job;
      this.rank = rank;
    }

    void start(Children children) throws IOException {
      synchronized (now) {
        for (int i = 0; i < now.length; i++) {
          before[i] += now[i];
          now[i] = 0;
        }
      }
      progressNs = System.nanoTime();
      process =
          children.start(
              List.of(
                  "soak-worker",
                  "--switch",
                  address.host() + ":" + address.port(),
                  "--job",
                  "soak-" + job,
                  "--rank",
                  "" + rank,
                  "--world",
                  "" + WORLD_SIZES[job],
                  "--window",
                  "64",
                  "--seed",
                  "" + seed,
                  "--faults",
                  faults(1 + 10 * job + rank)),
              this::onLine);
    }

    private void onLine(String line) {
      if (line != null && line.startsWith(SoakWorkerCommand.PROGRESS)) {
        String[] numbers = line.split(" ", -1);
        synchronized (now) {
          long operations = Long.parseLong(numbers[1]);
          if (operations != now[0]) {
            progressNs = System.nanoTime();
          }
          now[0] = operations;
          now[1] = Long.parseLong(numbers[2]);
          now[2] = Long.parseLong(numbers[3]);
        }
      } else if (line != null && line.startsWith("error ")) {
        wrong.compareAndSet(null, this + ": " + line);
      }
    }

    /** Whether the process that runs has done anything yet. */
    boolean hasBegun() {
      synchronized (now) {
        return now[0] > 0;
      }
    }

    long operations() {
      return total(0);
    }

    long openings() {
      return total(1);
    }

    long failures() {
      return total(2);
    }

    private long total(int what) {
      synchronized (now) {
        return before[what] + now[what];
      }
    }

    @Override
    public String toString() {
      return "rank " + rank + " of job soak-" + job;
    }
  }
}
