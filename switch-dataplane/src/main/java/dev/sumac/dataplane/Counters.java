package dev.sumac.dataplane;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * One shard's counters. Its thread alone adds; any thread reads, and may see a value a moment late.
 */
public final class Counters {
  private final AtomicLongArray values = new AtomicLongArray(Counter.values().length);

  void increment(Counter counter) {
    int i = counter.ordinal();
    values.lazySet(i, values.getPlain(i) + 1);
  }

  /** The count since the shard started. */
  public long get(Counter counter) {
    return values.get(counter.ordinal());
  }
}
