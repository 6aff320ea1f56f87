package dev.sumac.reliability;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which faults to make, how often. Immutable. Probabilities are for each packet, 0 to 1.
 *
 * @param loss probability that a packet is lost (the long-run share when {@code burst > 1})
 * @param burst mean length of a run of lost packets (Gilbert's two-state model); 1 for independent
 *     losses; runs are longer where {@code loss} leaves less than one packet between them
 * @param duplicate probability that a packet arrives twice
 * @param reorder probability that a packet is held back while later ones pass
 * @param delayNs longest time that a packet is held back, ns
 * @param damage probability that one bit of a packet is flipped
 * @param seed seed of the schedule: the same seed gives the same faults for the same packets
 */
public record FaultSpec(
    double loss,
    double burst,
    double duplicate,
    double reorder,
    long delayNs,
    double damage,
    long seed) {
  /** No faults at all. */
  public static final FaultSpec NONE = new FaultSpec(0, 1, 0, 0, 2_000_000, 0, 1);

  public FaultSpec {
    requireProbability("loss", loss);
    requireProbability("duplicate", duplicate);
    requireProbability("reorder", reorder);
    requireProbability("damage", damage);
    if (!(burst >= 1 && burst <= 1e6)) {
      throw new IllegalArgumentException("burst " + burst + " (1 to 1000000 packets)");
    }
    if (delayNs < 1) {
      throw new IllegalArgumentException("delay " + delayNs + " ns (at least 1)");
    }
  }

  /** Whether packets pass untouched. */
  public boolean isNone() {
    return loss == 0 && duplicate == 0 && reorder == 0 && damage == 0;
  }

  /** The same faults on another schedule. */
  public FaultSpec withSeed(long newSeed) {
    return new FaultSpec(loss, burst, duplicate, reorder, delayNs, damage, newSeed);
  }

  /**
   * Reads {@code loss=0.01,burst=1,duplicate=0.01,reorder=0.01,delay-us=2000,damage=0.001,seed=1};
   * what is left out is as in {@link #NONE}.
   *
   * @throws IllegalArgumentException with one line that names the part that is wrong
   */
  public static FaultSpec parse(String text) {
    Map<String, String> parts = new TreeMap<>();
    for (String part : text.split(",", -1)) {
      if (part.isBlank()) {
        continue;
      }
      int equals = part.indexOf('=');
      String key = equals < 0 ? part.strip() : part.substring(0, equals).strip();
      if (equals < 0 || parts.put(key, part.substring(equals + 1).strip()) != null) {
        throw new IllegalArgumentException("fault '" + part + "': name=value, each name once");
      }
    }
    FaultSpec spec =
        new FaultSpec(
            number(parts, "loss", 0),
            number(parts, "burst", 1),
            number(parts, "duplicate", 0),
            number(parts, "reorder", 0),
            Math.round(number(parts, "delay-us", 2_000) * 1_000),
            number(parts, "damage", 0),
            wholeNumber(parts, "seed", 1));
    if (!parts.isEmpty()) {
      throw new IllegalArgumentException(
          "unknown fault '"
              + parts.keySet().iterator().next()
              + "' (loss, burst, duplicate, reorder, delay-us, damage, seed)");
    }
    return spec;
  }

  /** The text that {@link #parse} reads. */
  public String toText() {
    return String.format(
        Locale.ROOT,
        "loss=%s,burst=%s,duplicate=%s,reorder=%s,delay-us=%s,damage=%s,seed=%d",
        loss,
        burst,
        duplicate,
        reorder,
        delayNs / 1_000.0,
        damage,
        seed);
  }

  private static double number(Map<String, String> parts, String key, double whenAbsent) {
    String text = parts.remove(key);
    if (text == null) {
      return whenAbsent;
    }
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("fault " + key + "=" + text + " is not a number", e);
    }
  }

  private static long wholeNumber(Map<String, String> parts, String key, long whenAbsent) {
    String text = parts.remove(key);
    if (text == null) {
      return whenAbsent;
    }
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("fault " + key + "=" + text + " is not a whole number", e);
    }
  }

  private static void requireProbability(String what, double value) {
    if (!(value >= 0 && value <= 1)) {
      throw new IllegalArgumentException(what + " " + value + " (0 to 1)");
    }
  }
}
