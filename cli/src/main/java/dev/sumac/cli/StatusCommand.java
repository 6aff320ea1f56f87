package dev.sumac.cli;

import dev.sumac.protocol.control.JobStatus;
import dev.sumac.protocol.control.StatusReply;
import java.io.IOException;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code sumac status}: what a switch has counted. */
@Command(
    name = "status",
    description = "Prints a switch's memory, jobs and counters.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class StatusCommand implements Callable<Integer> {
  @Option(
      names = "--switch",
      description = "The switch's HOST:PORT.",
      required = true,
      converter = HostPort.Converter.class)
  private HostPort switchAddress;

  @Mixin private TlsOptions tls;

  @Override
  public Integer call() throws IOException {
    StatusReply status = SwitchStatus.of(switchAddress, tls.files());
    System.out.printf("resident memory      %,d B%n", status.getResidentBytes());
    System.out.printf("slot memory          %,d B%n", status.getSlotBytes());
    System.out.printf(
        "slots a shard        %d, %d free%n", status.getSlotsTotal(), status.getSlotsFree());
    System.out.printf("processor time       %.3f s%n", status.getCpuNs() / 1e9);
    if (status.getPacketsIn() > 0) {
      System.out.printf(
          "allocated a packet   %.1f B (mean since the start)%n",
          (double) status.getAllocatedBytes() / status.getPacketsIn());
    }
    for (JobStatus job : status.getJobsList()) {
      System.out.printf(
          "job '%s': run %s, %d ranks, %d slots, %s%n",
          job.getJob(),
          Integer.toUnsignedString(job.getRun()),
          job.getWorldSize(),
          job.getSlots(),
          job.getStarted() ? "running" : "waits for ranks " + job.getMissingRanksList());
    }
    new TreeMap<>(status.getCountersMap())
        .forEach((name, value) -> System.out.printf("%-36s %d%n", name, value));
    return 0;
  }
}
