package dev.sumac.transport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Reads the kernel's count of datagrams that found a socket's receive buffer full: proc(5),
 * /proc/net/udp, "drops".
 */
final class KernelDrops {
  private static final long UNKNOWN = -1;
  private static final Pattern COLUMNS = Pattern.compile("\\s+");

  private KernelDrops() {}

  /** The drops of all sockets of this network namespace that are bound to the port, or -1. */
  static long ofPort(int port) {
    long drops = UNKNOWN;
    for (String table : List.of("udp", "udp6")) {
      Path path = Path.of("/proc/self/net", table);
      if (Files.isReadable(path)) {
        try {
          drops = add(drops, Files.readAllLines(path), port);
        } catch (IOException e) {
          return UNKNOWN;
        }
      }
    }
    return drops;
  }

  /**
   * Adds up the lines for a port: column 2 is {@code address:port} in hexadecimal, the last one is
   * the drops.
   */
  static long add(long drops, List<String> lines, int port) {
    String suffix = String.format(":%04X", port);
    long sum = drops;
    for (String line : lines) {
      List<String> columns = COLUMNS.splitAsStream(line.strip()).toList();
      if (columns.size() > 12 && columns.get(1).endsWith(suffix)) {
        sum = Math.max(sum, 0) + Long.parseLong(columns.get(columns.size() - 1));
      }
    }
    return sum;
  }
}
