package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.JobKey;
import java.util.List;
import org.junit.jupiter.api.Test;

final class JobSecretsTest {
  @Test
  void eachJobOfTheFileHasItsOwnSecret() {
    JobSecrets secrets = JobSecrets.parse("f", List.of("# comment", "  a\tone ", "", "b two"));
    assertTrue(secrets.allows("a") && secrets.allows("b"));
    assertFalse(secrets.allows("c") || secrets.allows("#"));
    assertArrayEquals(JobKey.derive("two", "b").bytes(), secrets.keyOf("b").bytes());
  }

  @Test
  void anOpenSwitchAllowsEveryJobAndKnowsNoKey() {
    assertTrue(JobSecrets.common("").isOpen());
    assertTrue(JobSecrets.NONE.allows("any"));
    assertNull(JobSecrets.NONE.keyOf("any"));
  }

  @Test
  void aBadLineIsNamedByFileAndLineButItsSecretIsNot() {
    bad("--secrets f:2: 1 words", "a one", "hunter2");
    bad("--secrets f:1: 3 words", "a hunter2 c");
    bad("--secrets f:3: job 'a' has a secret already", "a one", "", "a hunter2");
    bad("--secrets f:1: job name of 129 characters", "x".repeat(129) + " hunter2");
    bad("--secrets f: no line", "# nothing");
  }

  private static void bad(String expected, String... lines) {
    String text =
        assertThrows(IllegalArgumentException.class, () -> JobSecrets.parse("f", List.of(lines)))
            .getMessage();
    assertTrue(text.startsWith(expected), text);
    assertFalse(text.contains("hunter2"), text);
  }
}
