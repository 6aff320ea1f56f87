package dev.sumac.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Samples of what the switch and a long-lived worker hold, and the bounds of their growth. Not
 * thread-safe.
 */
final class SoakTable {
  private static final long MIB = 1 << 20;

  /** What is bounded: mean of the last quarter of the samples less mean of the first. */
  private enum Resource {
    HEAP("heap MiB", MIB, 8 * MIB),
    DIRECT("direct MiB", MIB, 16 * MIB),
    RESIDENT("resident MiB", MIB, 64 * MIB),
    THREADS("threads", 1, 6),
    DESCRIPTORS("descriptors", 1, 12);

    private final String label;
    private final double unit;
    private final long mostGrowth;

    Resource(String label, double unit, long mostGrowth) {
      this.label = label;
      this.unit = unit;
      this.mostGrowth = mostGrowth;
    }

    long of(ProcessUse use) {
      return switch (this) {
        case HEAP -> use.heapBytes();
        case DIRECT -> use.directBytes();
        case RESIDENT -> use.residentBytes();
        case THREADS -> use.threads();
        case DESCRIPTORS -> use.descriptors();
      };
    }
  }

  private record Sample(
      double atSeconds, ProcessUse ofSwitch, ProcessUse ofWorker, long freeSlots) {}

  private final List<Sample> samples = new ArrayList<>();

  void add(double atSeconds, ProcessUse ofSwitch, ProcessUse ofWorker, long freeSlots) {
    samples.add(new Sample(atSeconds, ofSwitch, ofWorker, freeSlots));
  }

  void print() {
    System.out.printf("%8s %12s", "second", "free slots");
    for (String process : List.of("switch", "worker")) {
      for (Resource resource : Resource.values()) {
        System.out.printf(" %20s", process + " " + resource.label);
      }
    }
    System.out.println();
    for (Sample sample : samples) {
      System.out.printf(Locale.ROOT, "%8.1f %12d", sample.atSeconds(), sample.freeSlots());
      for (ProcessUse use : List.of(sample.ofSwitch(), sample.ofWorker())) {
        for (Resource resource : Resource.values()) {
          System.out.printf(Locale.ROOT, " %20.1f", resource.of(use) / resource.unit);
        }
      }
      System.out.println();
    }
  }

  /** The first resource that grew beyond its bound, in words, or null. */
  String growth() {
    int quarter = Math.max(1, samples.size() / 4);
    if (samples.size() < 2) {
      return null;
    }
    for (boolean isSwitch : new boolean[] {true, false}) {
      for (Resource resource : Resource.values()) {
        double first = mean(samples.subList(0, quarter), isSwitch, resource);
        double last =
            mean(samples.subList(samples.size() - quarter, samples.size()), isSwitch, resource);
        if (last - first > resource.mostGrowth) {
          return String.format(
              Locale.ROOT,
              "%s of the %s grew from %.1f to %.1f (at most %.1f more)",
              resource.label,
              isSwitch ? "switch" : "worker",
              first / resource.unit,
              last / resource.unit,
              resource.mostGrowth / resource.unit);
        }
      }
    }
    return null;
  }

  private static double mean(List<Sample> some, boolean isSwitch, Resource resource) {
    return some.stream()
        .mapToLong(sample -> resource.of(isSwitch ? sample.ofSwitch() : sample.ofWorker()))
        .average()
        .orElseThrow();
  }
}
