package dev.sumac.cli;

import dev.sumac.protocol.control.StatusReply;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The table at the end of {@code sumac demo}. */
final class DemoTable {
  private static final double MB = 1e6;

  private DemoTable() {}

  /** Prints it; returns the exit code: 1 when an element was wrong. */
  static int print(List<DemoReport> reports, List<Integer> sizes, StatusReply status) {
    double bytes = sizes.stream().mapToDouble(size -> 4.0 * size).sum();
    double largeBytes =
        sizes.stream()
            .filter(size -> size >= DemoWorkerCommand.LARGE_ELEMENTS)
            .mapToDouble(size -> 4.0 * size)
            .sum();
    System.out.println();
    System.out.printf("%-34s", "");
    for (int rank = 0; rank < reports.size(); rank++) {
      System.out.printf("%12s", "rank " + rank);
    }
    System.out.println();
    row(reports, "join, s", "%12.3f", report -> report.get("join"));
    row(reports, "generate values, s", "%12.3f", report -> report.get("generate"));
    row(reports, "all-reduce, first step, s", "%12.3f", report -> report.get("first-step"));
    row(reports, "all-reduce, later steps' median, s", "%12.3f", report -> report.get("step"));
    row(reports, "check every element, s", "%12.3f", report -> report.get("check"));
    row(reports, "goodput, MB/s", "%12.1f", report -> bytes / report.get("step") / MB);
    row(
        reports,
        "goodput, tensors of 4 MiB up, MB/s",
        "%12.1f",
        report -> largeBytes / report.get("large") / MB);
    row(reports, "packets sent", "%12.0f", report -> report.get("sent"));
    row(reports, "  of them again", "%12.0f", report -> report.get("again"));
    row(reports, "packets refused", "%12.0f", report -> report.get("dropped"));
    row(reports, "dropped by the kernel", "%12.0f", report -> report.get("kernel-drops"));
    percentile(reports, "a tensor's time, p50, ms", 50);
    percentile(reports, "a tensor's time, p90, ms", 90);
    percentile(reports, "a tensor's time, p99, ms", 99);
    percentile(reports, "a tensor's time, max, ms", 100);
    row(reports, "elements checked", "%12.0f", report -> report.get("elements"));
    row(reports, "elements wrong", "%12.0f", report -> report.get("wrong"));
    row(reports, "largest error / allowed error", "%12.3f", report -> report.get("worst"));
    System.out.println();
    System.out.printf(
        "switch: %,d packets in, %,d contributions added, %,d duplicates, %,d results repeated, %,d"
            + " dropped by the kernel%n",
        status.getPacketsIn(),
        status.getCountersOrThrow("contributions"),
        status.getCountersOrThrow("dropped-duplicate"),
        status.getCountersOrThrow("results-repeated"),
        status.getCountersOrThrow("kernel-drops"));
    System.out.printf(
        "switch: %.1f MB resident, of which %.1f MB are slots; %.1f B allocated a packet; window %.0f%n",
        status.getResidentBytes() / MB,
        status.getSlotBytes() / MB,
        (double) status.getAllocatedBytes() / Math.max(1, status.getPacketsIn()),
        reports.get(0).get("window"));
    double wrong = reports.stream().mapToDouble(report -> report.get("wrong")).sum();
    System.out.println(
        wrong == 0
            ? "every element of every rank is right"
            : String.format("%.0f ELEMENTS ARE WRONG", wrong));
    return wrong == 0 ? 0 : 1;
  }

  private static void row(
      List<DemoReport> reports, String name, String format, ToDoubleFunction<DemoReport> value) {
    System.out.printf("%-34s", name);
    for (DemoReport report : reports) {
      System.out.printf(format, value.applyAsDouble(report));
    }
    System.out.println();
  }

  private static void percentile(List<DemoReport> reports, String name, double percentile) {
    row(
        reports,
        name,
        "%12.3f",
        report -> (double) report.latencyNs().getValueAtPercentile(percentile) / 1e6);
  }
}
