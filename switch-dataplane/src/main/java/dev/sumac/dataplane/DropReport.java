package dev.sumac.dataplane;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;

/**
 * Says what was dropped since the last call: one line for each reason, whatever the number of
 * packets. Duplicates and stale packets are left out: members send them whenever packets are lost.
 * Not thread-safe.
 */
final class DropReport {
  private static final String DROPPED = "dropped-";
  private static final String MALFORMED = "malformed-";

  private static final Set<Counter> ORDINARY =
      EnumSet.of(Counter.DROPPED_DUPLICATE, Counter.DROPPED_STALE);

  private final Counter[] counters = Counter.values();
  private final long[] told = new long[counters.length];

  /**
   * About once a second.
   *
   * @param count what a counter stands at now
   */
  void onTick(ToLongFunction<Counter> count, Consumer<String> log) {
    for (Counter counter : counters) {
      String label = counter.label();
      boolean isDrop = label.startsWith(DROPPED);
      if (ORDINARY.contains(counter) || (!isDrop && !label.startsWith(MALFORMED))) {
        continue;
      }
      long now = count.applyAsLong(counter);
      long more = now - told[counter.ordinal()];
      told[counter.ordinal()] = now;
      if (more > 0) {
        String reason = isDrop ? label.substring(DROPPED.length()) : label;
        log.accept(
            String.format(Locale.ROOT, "dropped %,d packets: %s", more, reason.replace('-', ' ')));
      }
    }
  }
}
