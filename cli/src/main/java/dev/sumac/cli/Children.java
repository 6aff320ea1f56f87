package dev.sumac.cli;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Processes of this same program. They end with this one, however it ends: each watches its
 * standard input, which closes when the parent is gone; and on an orderly end they are killed by a
 * shutdown hook. Thread-safe.
 */
final class Children implements AutoCloseable {
  private static final int EXIT_PARENT_GONE = 1;

  private final List<Process> processes = new ArrayList<>();
  private final Thread hook = new Thread(this::kill, "sumac-children");

  Children() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /**
   * Starts {@code sumac ARGUMENTS}.
   *
   * @param onLine told each line of its standard output, on a thread of its own; null when there
   *     are no more
   */
  Process start(List<String> arguments, Consumer<String> onLine) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(Sumac.class.getName());
    command.addAll(arguments);
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    synchronized (processes) {
      processes.add(process);
    }
    Thread reader = new Thread(() -> read(process, onLine), "sumac-child-" + process.pid());
    reader.setDaemon(true);
    reader.start();
    return process;
  }

  private static void read(Process process, Consumer<String> onLine) {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String line;
      while ((line = lines.readLine()) != null) {
        onLine.accept(line);
      }
    } catch (IOException e) {
      onLine.accept("error its output can't be read: " + e.getMessage());
    }
    onLine.accept(null);
  }

  /** Ends all that still run and waits for them. */
  @Override
  public void close() {
    kill();
    Runtime.getRuntime().removeShutdownHook(hook);
  }

  private void kill() {
    synchronized (processes) {
      processes.forEach(Process::destroyForcibly);
      for (Process process : processes) {
        try {
          process.waitFor(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }
  }

  /** In a child: ends this process when its standard input does. */
  static void endWithStdin() {
    Thread watcher =
        new Thread(
            () -> {
              try {
                while (System.in.read() >= 0) {
                  // Nothing is ever said here; only the end matters.
                }
              } catch (IOException e) {
                Runtime.getRuntime().halt(EXIT_PARENT_GONE);
              }
              Runtime.getRuntime().halt(EXIT_PARENT_GONE);
            },
            "sumac-parent-watch");
    watcher.setDaemon(true);
    watcher.start();
  }
}
