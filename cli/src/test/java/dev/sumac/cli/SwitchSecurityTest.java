package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bad security options of the switch are one line and an exit code, before anything listens. */
final class SwitchSecurityTest {
  private static final int USAGE = 2;
  private static final int FAILURE = 1;

  @TempDir Path folder;

  @Test
  void aBadLineOfTheSecretsIsNamedByFileAndLine() throws Exception {
    Path secrets = Files.writeString(folder.resolve("s.txt"), "# jobs\na hunter2\nb hunter2 c\n");
    switchEnds(USAGE, "--secrets " + secrets + ":3: 3 words", "--secrets", secrets.toString());
    switchEnds(
        USAGE, "exclude each other", "--secrets", secrets.toString(), "--token", "something");
  }

  @Test
  void filesThatAreNotThereAreNamedWithTheirOption() {
    String missing = folder.resolve("missing").toString();
    switchEnds(FAILURE, "--secrets " + missing + " can't be read", "--secrets", missing);
    switchEnds(
        FAILURE,
        "--tls-cert " + missing + " can't be read: no such file",
        "--tls-cert",
        missing,
        "--tls-key",
        missing);
    switchEnds(USAGE, "without --tls-key", "--tls-cert", missing);
  }

  @Test
  void limitsHaveARange() {
    switchEnds(USAGE, "--max-streams 0 (1 to", "--max-streams", "0");
    switchEnds(USAGE, "--max-pending-joins -1 (1 to", "--max-pending-joins", "-1");
  }

  private static void switchEnds(int expectedCode, String expected, String... options) {
    List<String> arguments = new ArrayList<>(List.of("switch", "--port", "0"));
    arguments.addAll(List.of(options));
    StringWriter err = new StringWriter();
    int code =
        Sumac.commandLine().setErr(new PrintWriter(err)).execute(arguments.toArray(new String[0]));
    assertEquals(expectedCode, code, err.toString());
    assertEquals(1, err.toString().lines().count(), err.toString());
    assertTrue(err.toString().contains(expected), err.toString());
    assertFalse(err.toString().contains("hunter2"), err.toString());
  }
}
