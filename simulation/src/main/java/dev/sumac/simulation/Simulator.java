package dev.sumac.simulation;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/** Runs many schedules of a scenario, on as many threads as are asked for. Thread-safe. */
public final class Simulator {
  /**
   * What came of it.
   *
   * @param schedules how many were run
   * @param packets packets put on a link in all of them
   * @param virtualNs virtual time in all of them
   * @param elapsedNs real time
   * @param failedSeed the smallest seed that the oracle objects to among those that were run, or
   *     {@link Long#MIN_VALUE}
   * @param violation what it objects to, or null
   */
  public record Report(
      long schedules,
      long packets,
      long virtualNs,
      long elapsedNs,
      long failedSeed,
      String violation) {
    /** Whether nothing was objected to. */
    public boolean isClean() {
      return violation == null;
    }
  }

  private final Scenario scenario;
  private final long firstSeed;
  private final long count;
  private final LongConsumer onProgress;
  private final AtomicLong next = new AtomicLong();
  private final AtomicLong packets = new AtomicLong();
  private final AtomicLong virtualNs = new AtomicLong();
  private final AtomicLong schedules = new AtomicLong();
  private long failedSeed = Long.MIN_VALUE;
  private String violation;

  private Simulator(Scenario scenario, long firstSeed, long count, LongConsumer onProgress) {
    this.scenario = scenario;
    this.firstSeed = firstSeed;
    this.count = count;
    this.onProgress = onProgress;
  }

  /**
   * Runs the schedules of seeds {@code firstSeed} to {@code firstSeed + count - 1}, in this order,
   * until one fails.
   *
   * @param onProgress told after each schedule how many have been run; on any thread
   * @throws InterruptedException when interrupted; no thread is left behind
   */
  public static Report run(
      Scenario scenario, long firstSeed, long count, int threads, LongConsumer onProgress)
      throws InterruptedException {
    return new Simulator(scenario, firstSeed, count, onProgress).run(threads);
  }

  /**
   * Runs one schedule and writes down what happens; returns what the oracle objects to, or null.
   */
  public static String trace(Scenario scenario, long seed, Appendable to) {
    return Simulation.run(scenario, seed, to).violation();
  }

  private Report run(int threads) throws InterruptedException {
    long beganNs = System.nanoTime();
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      for (int i = 0; i < threads; i++) {
        pool.execute(this::work);
      }
      pool.shutdown();
      pool.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
    } finally {
      next.set(count);
      pool.shutdownNow();
    }
    synchronized (this) {
      return new Report(
          schedules.get(),
          packets.get(),
          virtualNs.get(),
          System.nanoTime() - beganNs,
          failedSeed,
          violation);
    }
  }

  private void work() {
    long index;
    while ((index = next.getAndIncrement()) < count) {
      Simulation.Outcome outcome = Simulation.run(scenario, firstSeed + index, null);
      packets.addAndGet(outcome.packets());
      virtualNs.addAndGet(outcome.virtualNs());
      if (outcome.violation() != null) {
        next.set(count);
        failed(firstSeed + index, outcome.violation());
      }
      onProgress.accept(schedules.incrementAndGet());
    }
  }

  private synchronized void failed(long seed, String what) {
    if (violation == null || seed < failedSeed) {
      failedSeed = seed;
      violation = what;
    }
  }
}
