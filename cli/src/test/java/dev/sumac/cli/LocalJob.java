package dev.sumac.cli;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** A switch and all ranks of a job in this process, over real sockets. For tests. */
final class LocalJob implements AutoCloseable {
  /** What one rank does. */
  interface RankTask<T> {
    T run(Communicator communicator) throws Exception;
  }

  private static final long LIMIT_SECONDS = 60;

  private final AggregationSwitch aggregationSwitch;
  private final int worldSize;
  private final UnaryOperator<CommunicatorConfig.Builder> options;
  private final ExecutorService threads = Executors.newCachedThreadPool();

  LocalJob(
      int worldSize,
      UnaryOperator<SwitchConfig.Builder> switchOptions,
      UnaryOperator<CommunicatorConfig.Builder> options)
      throws IOException {
    this.aggregationSwitch =
        AggregationSwitch.start(switchOptions.apply(SwitchConfig.builder().port(0)).build());
    this.worldSize = worldSize;
    this.options = options;
  }

  LocalJob(int worldSize) throws IOException {
    this(worldSize, UnaryOperator.identity(), UnaryOperator.identity());
  }

  AggregationSwitch aggregationSwitch() {
    return aggregationSwitch;
  }

  /** Configuration of a rank. */
  CommunicatorConfig.Builder config(int rank) {
    return options.apply(
        CommunicatorConfig.builder()
            .switchAddress("127.0.0.1", aggregationSwitch.port())
            .rank(rank)
            .worldSize(worldSize));
  }

  /**
   * Opens a communicator at every rank, runs the task at all at once, closes them; the results by
   * rank.
   */
  <T> List<T> run(RankTask<T> task) throws Exception {
    return results(
        start(
            rank -> {
              try (Communicator communicator = Communicator.open(config(rank).build())) {
                return task.run(communicator);
              }
            }));
  }

  /** As {@link #run}, but each rank does something of its own, and failures are results. */
  List<Object> outcomes(Function<Communicator, Object> task) throws Exception {
    return results(
        start(
            rank -> {
              try (Communicator communicator = Communicator.open(config(rank).build())) {
                return task.apply(communicator);
              } catch (RuntimeException e) {
                return e;
              }
            }));
  }

  /** What one rank does, without a communicator. */
  interface RankBody<T> {
    T run(int rank) throws Exception;
  }

  <T> List<Future<T>> start(RankBody<T> body) {
    List<Future<T>> futures = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      int thisRank = rank;
      futures.add(threads.submit(() -> body.run(thisRank)));
    }
    return futures;
  }

  static <T> List<T> results(List<Future<T>> futures) throws Exception {
    List<T> results = new ArrayList<>();
    for (Future<T> future : futures) {
      try {
        results.add(future.get(LIMIT_SECONDS, TimeUnit.SECONDS));
      } catch (ExecutionException e) {
        throw new AssertionError("a rank failed", e.getCause());
      } catch (TimeoutException e) {
        throw new AssertionError("a rank hangs", e);
      }
    }
    return results;
  }

  @Override
  public void close() {
    threads.shutdownNow();
    aggregationSwitch.close();
  }
}
