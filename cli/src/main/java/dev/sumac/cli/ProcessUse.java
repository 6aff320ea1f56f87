package dev.sumac.cli;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What another JVM of this user holds at one moment, as proc(5) and its own diagnostic commands
 * tell. Immutable.
 *
 * @param heapBytes heap in use, right after a full collection
 * @param directBytes memory outside the heap that Java code has taken, or -1 when the process was
 *     not started with {@code -XX:NativeMemoryTracking=summary}
 * @param residentBytes resident set size
 * @param threads its threads
 * @param descriptors its open file descriptors
 */
record ProcessUse(
    long heapBytes, long directBytes, long residentBytes, long threads, long descriptors) {
  private static final Pattern OTHER_MEMORY =
      Pattern.compile("Other \\(reserved=\\d+KB, committed=(\\d+)KB");

  static ProcessUse of(long pid) throws IOException, InterruptedException {
    tool("jcmd", "" + pid, "GC.run");
    Matcher other = OTHER_MEMORY.matcher(tool("jcmd", "" + pid, "VM.native_memory", "summary"));
    return new ProcessUse(
        heapBytes(tool("jstat", "-gc", "" + pid)),
        other.find() ? Long.parseLong(other.group(1)) * 1_024 : -1,
        statusValue(pid, "VmRSS:") * 1_024,
        statusValue(pid, "Threads:"),
        descriptors(pid));
  }

  /** Open file descriptors of a process. */
  static long descriptors(long pid) throws IOException {
    try (Stream<Path> entries = Files.list(Path.of("/proc/" + pid + "/fd"))) {
      return entries.count();
    }
  }

  /** The number behind a name in /proc/PID/status, as it stands there. */
  static long statusValue(long pid, String name) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"))) {
      if (line.startsWith(name)) {
        return Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    throw new IOException("/proc/" + pid + "/status has no line " + name);
  }

  /** Sum of what is in use of each generation: the columns S0U, S1U, EU and OU, in KB. */
  private static long heapBytes(String jstat) throws IOException {
    List<String> lines = jstat.lines().toList();
    if (lines.size() < 2) {
      throw new IOException("jstat says: " + jstat);
    }
    String[] names = lines.get(0).strip().split("\\s+", -1);
    String[] values = lines.get(1).strip().split("\\s+", -1);
    double kilobytes = 0;
    for (int i = 0; i < names.length; i++) {
      if (List.of("S0U", "S1U", "EU", "OU").contains(names[i]) && !values[i].equals("-")) {
        kilobytes += Double.parseDouble(values[i]);
      }
    }
    return (long) (kilobytes * 1_024);
  }

  private static String tool(String... command) throws IOException, InterruptedException {
    command[0] =
        System.getProperty("java.home") + File.separator + "bin" + File.separator + command[0];
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return output;
  }
}
