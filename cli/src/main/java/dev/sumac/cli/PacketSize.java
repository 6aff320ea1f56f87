package dev.sumac.cli;

import dev.sumac.protocol.AggregationHeader;
import java.util.Locale;
import picocli.CommandLine.Option;

/** Options that say how many elements a packet has: directly, or by the MTU that it must fit. */
final class PacketSize {
  /** Bytes of IPv4 and UDP headers. */
  private static final int IP_AND_UDP_BYTES = 28;

  @Option(
      names = "--elements-per-packet",
      description = "Elements a packet, 2 to " + AggregationHeader.MAX_ELEMENTS + ".")
  private Integer elements;

  @Option(
      names = "--mtu",
      description =
          "Network's MTU in bytes; a packet gets as many elements as fit. Instead of"
              + " --elements-per-packet.")
  private Integer mtu;

  /** Elements a packet without an authentication tag, or {@code whenUnset}. */
  int elements(int whenUnset) {
    return elements(whenUnset, false);
  }

  /** Elements a packet, or {@code whenUnset}. */
  int elements(int whenUnset, boolean authenticated) {
    if (mtu == null) {
      return elements == null ? whenUnset : elements;
    }
    int fitting =
        (mtu - IP_AND_UDP_BYTES - AggregationHeader.packetBytes(0, authenticated)) / Integer.BYTES;
    if (elements != null || fitting < 2 || fitting > AggregationHeader.MAX_ELEMENTS) {
      throw new IllegalArgumentException(
          elements != null
              ? "--mtu and --elements-per-packet exclude each other"
              : String.format(
                  Locale.ROOT,
                  "--mtu %d (%d to 65535)",
                  mtu,
                  IP_AND_UDP_BYTES + AggregationHeader.packetBytes(2, authenticated)));
    }
    return fitting;
  }
}
