package dev.sumac.simulation;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Malformed;
import java.util.Locale;
import org.agrona.DirectBuffer;

/** What happens in a simulation, line by line, for people. Not thread-safe. */
final class Trace {
  private final Appendable to;
  private final AggregationHeader header = new AggregationHeader();

  /**
   * @param to where lines go, or null for nowhere
   */
  Trace(Appendable to) {
    this.to = to;
  }

  boolean isOn() {
    return to != null;
  }

  /** One line: when, who, what. */
  void line(long nowNs, String who, String format, Object... arguments) {
    if (to == null) {
      return;
    }
    try {
      to.append(
          String.format(
              Locale.ROOT,
              "%13.6f ms  %-10s %s%n",
              nowNs / 1e6,
              who,
              String.format(Locale.ROOT, format, arguments)));
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** A packet's kind and numbers. */
  String describe(DirectBuffer packet, int offset, int lengthBytes) {
    Malformed reason = header.check(packet, offset, lengthBytes);
    if (reason != Malformed.NONE) {
      return lengthBytes + " B, " + reason;
    }
    return String.format(
        Locale.ROOT,
        "%s%s%s run %08x chunk %d operation %d, %d of %d elements",
        header.kind(),
        header.isRetransmission() ? " again" : "",
        header.carriesExponents() ? " of exponents" : "",
        header.run(),
        header.chunk(),
        header.operation(),
        header.elementCount(),
        header.operationElements());
  }
}
