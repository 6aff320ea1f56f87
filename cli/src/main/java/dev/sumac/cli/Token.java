package dev.sumac.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** Where the job's secret comes from: a file, an option, or the environment. */
final class Token {
  @Option(
      names = "--token",
      description =
          "Secret of the job, the same at all ranks. Others on this host can see it in the process"
              + " list: --token-file or the environment's SUMAC_TOKEN keep it from them.",
      defaultValue = "${env:SUMAC_TOKEN:-}",
      showDefaultValue = picocli.CommandLine.Help.Visibility.NEVER)
  private String token;

  @Option(names = "--token-file", description = "File with the secret, instead of --token.")
  private Path file;

  String text() throws IOException {
    if (file == null) {
      return token;
    }
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      throw new IOException("--token-file " + file + " can't be read: " + e.getMessage(), e);
    }
  }
}
