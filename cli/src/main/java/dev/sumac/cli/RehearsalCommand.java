package dev.sumac.cli;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * A switch and two workers in one process, for a few seconds: what the launcher records a start-up
 * archive from (classes, and from JDK 25 on method profiles), so that real processes start in a
 * third of the time.
 */
@Command(name = "rehearsal", hidden = true)
final class RehearsalCommand implements Callable<Integer> {
  private static final int WORLD_SIZE = 2;
  private static final int ELEMENTS = 1_000_000;
  private static final long SEED = 1;

  @Option(names = "--steps", defaultValue = "40")
  private int steps;

  @Override
  public Integer call() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(WORLD_SIZE);
    try (AggregationSwitch aggregationSwitch =
        AggregationSwitch.start(SwitchConfig.builder().port(0).build())) {
      HostPort address = new HostPort("127.0.0.1", aggregationSwitch.port());
      List<Future<Long>> wrong = new ArrayList<>();
      for (int rank = 0; rank < WORLD_SIZE; rank++) {
        int thisRank = rank;
        wrong.add(threads.submit(() -> work(thisRank, address)));
      }
      for (Future<Long> count : wrong) {
        if (count.get() > 0) {
          throw new IllegalStateException(count.get() + " elements are wrong");
        }
      }
      SwitchStatus.of(address);
    } finally {
      threads.shutdownNow();
    }
    return 0;
  }

  private long work(int rank, HostPort address) {
    CommunicatorConfig config =
        CommunicatorConfig.builder()
            .switchAddress(address.host(), address.port())
            .rank(rank)
            .worldSize(WORLD_SIZE)
            .build();
    float[] values = new float[ELEMENTS];
    try (Communicator communicator = Communicator.open(config)) {
      SumCheck check = new SumCheck(WORLD_SIZE, communicator.elementsPerPacket());
      for (int step = 0; step < steps; step++) {
        Gradients.fill(values, Gradients.key(SEED, step, 0, rank), Gradients.scale(SEED, 0));
        communicator.allReduce(values);
        check.check(values, SEED, step, 0);
        communicator.allReduce(new int[step]);
      }
      return check.wrong();
    }
  }
}
