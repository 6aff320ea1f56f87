package dev.sumac.dataplane;

import dev.sumac.protocol.JobKey;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The secrets that a switch knows: one for every job, one for each job, or none, so that a job's
 * first rank brings its key. Immutable.
 */
public final class JobSecrets {
  /** An open switch: it knows no secret. */
  public static final JobSecrets NONE = new JobSecrets("", Map.of());

  private final String common;
  private final Map<String, String> byJob;

  private JobSecrets(String common, Map<String, String> byJob) {
    this.common = common;
    this.byJob = Map.copyOf(byJob);
  }

  /** One secret for every job. */
  public static JobSecrets common(String secret) {
    return secret.isEmpty() ? NONE : new JobSecrets(secret, Map.of());
  }

  /**
   * A secret for each job that may run; all others are refused.
   *
   * @param file name of the file, for messages
   * @param lines {@code job secret}; empty lines and lines that begin with # say nothing
   * @throws IllegalArgumentException with file and line of the first bad line, but never a secret
   */
  public static JobSecrets parse(String file, List<String> lines) {
    Map<String, String> byJob = new HashMap<>();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String[] words = line.split("\\s+", -1);
      if (words.length != 2) {
        throw bad(file, i, "%d words, not 2 ('job secret')", words.length);
      }
      if (words[0].length() > JoinChecks.MAX_JOB_NAME) {
        throw bad(
            file,
            i,
            "job name of %d characters (1 to %d)",
            words[0].length(),
            JoinChecks.MAX_JOB_NAME);
      }
      if (byJob.put(words[0], words[1]) != null) {
        throw bad(file, i, "job '%s' has a secret already", words[0]);
      }
    }
    if (byJob.isEmpty()) {
      throw new IllegalArgumentException("--secrets " + file + ": no line 'job secret' in it");
    }
    return new JobSecrets("", byJob);
  }

  /** Whether the switch knows no secret. */
  boolean isOpen() {
    return common.isEmpty() && byJob.isEmpty();
  }

  /** Whether a job of this name may run. */
  boolean allows(String job) {
    return byJob.isEmpty() || byJob.containsKey(job);
  }

  /** The key of a job that may run, or null on an open switch. */
  JobKey keyOf(String job) {
    return isOpen() ? null : JobKey.derive(byJob.getOrDefault(job, common), job);
  }

  /** What messages call the secret of a job. */
  String nameFor(String job) {
    return byJob.isEmpty()
        ? "this switch's --token"
        : "the one of job '" + job + "' in this switch's --secrets";
  }

  private static IllegalArgumentException bad(
      String file, int index, String format, Object... arguments) {
    return new IllegalArgumentException(
        "--secrets "
            + file
            + ":"
            + (index + 1)
            + ": "
            + String.format(Locale.ROOT, format, arguments));
  }

  /** Says nothing of the secrets. */
  @Override
  public String toString() {
    return isOpen() ? "no secrets" : byJob.isEmpty() ? "one secret" : byJob.size() + " secrets";
  }
}
