package dev.sumac.cli;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Real processes of the command, with what they print; all end with the test. For tests. */
final class Processes implements AutoCloseable {
  /** Whoever runs the tests in the background has made them deaf to INT; not their children. */
  private static final List<String> ENV = List.of("env", "--default-signal=INT");

  private final List<Run> runs = new ArrayList<>();

  /** One process. */
  static final class Run {
    private final Process process;
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Thread reader;

    private Run(Process process) {
      this.process = process;
      reader = new Thread(this::read, "output-" + process.pid());
      reader.setDaemon(true);
      reader.start();
    }

    private void read() {
      try (BufferedReader output =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        String line;
        while ((line = output.readLine()) != null) {
          lines.add(line);
        }
      } catch (IOException e) {
        lines.add("unreadable: " + e);
      }
    }

    long pid() {
      return process.pid();
    }

    boolean isAlive() {
      return process.isAlive();
    }

    /** Everything printed so far, standard error included. */
    String output() {
      return String.join("\n", lines);
    }

    List<String> lines() {
      return List.copyOf(lines);
    }

    /** The rest of the first line that begins so, once it is there. */
    String awaitLine(String beginning) throws Exception {
      Conditions.await(
          "a line '"
              + beginning
              + "' of "
              + process.info().commandLine().orElse("an ended process"),
          () -> !process.isAlive() || lines.stream().anyMatch(line -> line.startsWith(beginning)));
      return lines.stream()
          .filter(line -> line.startsWith(beginning))
          .findFirst()
          .orElseThrow(() -> new AssertionError("ended without it:\n" + output()))
          .substring(beginning.length());
    }

    /** Exit code, at most so many seconds from now. */
    int awaitExit(int seconds) throws InterruptedException {
      if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
        throw new AssertionError("still runs after " + seconds + " s:\n" + output());
      }
      reader.join(2_000);
      return process.exitValue();
    }

    /** As kill(1): TERM, KILL, STOP, CONT, INT. */
    void signal(String name) throws IOException, InterruptedException {
      int code = new ProcessBuilder("kill", "-" + name, "" + pid()).start().waitFor();
      if (code != 0) {
        throw new IOException("kill -" + name + " " + pid() + ": exit code " + code);
      }
    }
  }

  /** Starts {@code sumac ARGUMENTS} on this JDK. */
  Run sumac(String... arguments) throws IOException {
    return sumac(System.getProperty("java.home"), List.of(), Map.of(), arguments);
  }

  /** Starts {@code sumac ARGUMENTS} on a JDK, with options of its own and environment variables. */
  Run sumac(
      String javaHome, List<String> options, Map<String, String> environment, String... arguments)
      throws IOException {
    return start(command(javaHome, options, arguments), environment);
  }

  /** The command line of {@code sumac ARGUMENTS}. */
  static List<String> command(String javaHome, List<String> options, String... arguments) {
    List<String> command = new ArrayList<>();
    command.addAll(ENV);
    command.add(javaHome + File.separator + "bin" + File.separator + "java");
    command.add("--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED");
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-XX:+IgnoreUnrecognizedVMOptions");
    command.add("--sun-misc-unsafe-memory-access=allow");
    command.add("-XX:+UseSerialGC");
    command.add("-XX:TieredStopAtLevel=1");
    command.addAll(options);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(Sumac.class.getName());
    command.addAll(List.of(arguments));
    return command;
  }

  /**
   * Starts {@code sumac ARGUMENTS} in a shell that has run {@code first} before, such as {@code
   * ulimit -n 256}.
   */
  Run after(String first, String... arguments) throws IOException {
    List<String> java = command(System.getProperty("java.home"), List.of(), arguments);
    List<String> command = new ArrayList<>(List.of("sh", "-c", first + " && exec \"$@\"", "sh"));
    command.addAll(java.subList(ENV.size(), java.size()));
    return start(command, Map.of());
  }

  Run start(List<String> command, Map<String, String> environment) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    Run run = new Run(builder.start());
    runs.add(run);
    return run;
  }

  /** A switch on a free port; waits until it is ready. */
  Run startSwitch(String... more) throws IOException {
    List<String> arguments =
        new ArrayList<>(List.of("switch", "--bind", "127.0.0.1", "--port", "0"));
    arguments.addAll(List.of(more));
    return sumac(arguments.toArray(new String[0]));
  }

  @Override
  public void close() {
    for (Run run : runs) {
      run.process.destroyForcibly();
    }
    for (Run run : runs) {
      run.process.onExit().join();
    }
  }
}
