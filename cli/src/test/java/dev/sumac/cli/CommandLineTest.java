package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/**
 * Bad input gets one line that says what and which option; exit code 2 for usage, 1 for failure.
 */
final class CommandLineTest {
  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nonsense | nonsense",
        "switch --nonsense | --nonsense",
        "switch --slots 0 | --slots 0 (1 to 1048576)",
        "switch --slots many | --slots",
        "switch --port 70000 | --port 70000 (0 to 65535)",
        "switch --elements-per-packet 20000 | --elements-per-packet 20000 (2 to 16363)",
        "switch --elements-per-packet 16363 --slots 1048576 | more than a shard can hold",
        "switch --mtu 10 | --mtu 10",
        "switch --mtu 1500 --elements-per-packet 3 | exclude each other",
        "switch --shards 0 | --shards 0",
        "switch --faults loss=2 | loss 2.0 (0 to 1)",
        "switch --faults fire=1 | fire",
        "switch --io carrier-pigeon | carrier-pigeon",
        "allreduce | --rank",
        "allreduce --rank 0 --world 2 --switch here:x --input a --output b | 'here:x' is not HOST:PORT",
        "allreduce --rank 2 --world 2 --switch h:1 --input a --output b | --rank 2 (0 to 1)",
        "allreduce --rank 0 --world 0 --switch h:1 --input a --output b | --world 0 (1 to 1024)",
        "allreduce --rank 0 --world 1 --switch h:1 --input a --output b --timeout 0 | --timeout 0.0",
        "allreduce --rank 0 --world 1 --switch h:1 --input a --output b --op median | median",
        "allreduce --rank 0 --world 1 --switch h:1 --input a --output b --window 0 | --window 0",
        "demo --model alexnet | --model alexnet (resnet50, vgg16, bert-base)",
        "demo --workers 0 | --workers 0 (1 to 64)",
        "demo --loss 1 | --loss 1.0",
        "demo --loss NaN | --loss NaN",
        "demo --slots 0 | --slots 0",
        "simulate --scenario doom | --scenario doom (all, calm,",
        "simulate --seeds 0 | --seeds 0 (at least 1)",
        "simulate --threads 0 | --threads 0 (1 to 1024)",
        "simulate --trace - | --trace needs one --scenario"
      })
  void usageErrorsAreOneLineAndExitCode2(String arguments, String expected) {
    StringWriter err = new StringWriter();
    CommandLine commandLine = Sumac.commandLine().setErr(new PrintWriter(err));
    int code = commandLine.execute(arguments.strip().split(" ", -1));
    assertEquals(2, code, err.toString());
    assertEquals(1, err.toString().lines().count(), err.toString());
    assertTrue(err.toString().contains(expected.strip()), err.toString());
  }

  @Test
  void optionWordsAreUnderstoodInAnyCase() throws Exception {
    Path input = folder.resolve("in.npy");
    NpyFileTest.writeInts(input, 1, 2, 3);
    try (LocalJob job = new LocalJob(1)) {
      int code =
          Sumac.commandLine()
              .execute(
                  "allreduce",
                  "--rank",
                  "0",
                  "--world",
                  "1",
                  "--switch",
                  "127.0.0.1:" + job.aggregationSwitch().port(),
                  "--op",
                  "MiN",
                  "--io",
                  "NIO",
                  "--input",
                  input.toString(),
                  "--output",
                  folder.resolve("out.npy").toString());
      assertEquals(0, code);
      assertEquals(3, NpyFile.read(folder.resolve("out.npy")).data().asIntBuffer().get(2));
    }
  }

  @Test
  void failuresAreOneLineAndExitCode1AndLeaveNoOutput() throws Exception {
    Path output = folder.resolve("out.npy");
    Path wrongType = folder.resolve("double.npy");
    Files.write(
        wrongType, NpyFileTest.header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"));
    failure("'<f8'", wrongType, output);
    failure("no such file", folder.resolve("absent.npy"), output);
    Path good = folder.resolve("good.npy");
    NpyFileTest.writeInts(good, 1);
    failure("no such folder", good, folder.resolve("nowhere").resolve("out.npy"));
    failure("no answer from the switch", good, output);
    try (var files = Files.list(folder)) {
      assertEquals(2, files.count());
    }
  }

  private static void failure(String expected, Path input, Path output) {
    StringWriter err = new StringWriter();
    int code =
        Sumac.commandLine()
            .setErr(new PrintWriter(err))
            .execute(
                "allreduce",
                "--rank",
                "0",
                "--world",
                "1",
                "--switch",
                "127.0.0.1:9",
                "--timeout",
                "0.3",
                "--input",
                input.toString(),
                "--output",
                output.toString());
    assertEquals(1, code, err.toString());
    assertEquals(1, err.toString().lines().count(), err.toString());
    assertTrue(err.toString().contains(expected), err.toString());
  }
}
