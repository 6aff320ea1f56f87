package dev.sumac.dataplane;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * At most one line a second for each reason, with the number of those held back, so that nobody can
 * fill a disk by being refused. Time is an argument; not thread-safe.
 *
 * <p>Reasons are constants of the program, never what a stranger sent: their number is the bound of
 * this class's memory.
 */
final class LogLimit {
  private static final long INTERVAL_NS = 1_000_000_000L;
  private static final int MAX_TEXT = 200;

  private static final class Reason {
    long lastNs;
    long heldBack;
  }

  private final Map<String, Reason> reasons = new HashMap<>();

  /** What to append to the line, or null when it is to be held back. */
  String admit(String reason, long nowNs) {
    Reason known = reasons.get(reason);
    if (known == null) {
      known = new Reason();
      known.lastNs = nowNs;
      reasons.put(reason, known);
      return "";
    }
    if (nowNs - known.lastNs < INTERVAL_NS) {
      known.heldBack++;
      return null;
    }
    known.lastNs = nowNs;
    long heldBack = known.heldBack;
    known.heldBack = 0;
    return heldBack == 0
        ? ""
        : String.format(Locale.ROOT, " (%,d more like this held back)", heldBack);
  }

  /** A line for each reason that has lines held back and had none for a second. */
  void flush(long nowNs, Consumer<String> log) {
    reasons.forEach(
        (name, reason) -> {
          if (reason.heldBack > 0 && nowNs - reason.lastNs >= INTERVAL_NS) {
            log.accept(
                String.format(Locale.ROOT, "%,d lines held back: %s", reason.heldBack, name));
            reason.heldBack = 0;
            reason.lastNs = nowNs;
          }
        });
  }

  /**
   * A stranger's text, fit for one line of a log: no control characters, not longer than a line.
   */
  static String oneLine(String text) {
    String cut = text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "...";
    return cut.replaceAll("\\p{Cntrl}", "?");
  }
}
