package dev.sumac.cli;

import java.io.PrintWriter;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The command {@code sumac}. Every error is one line on standard error; exit code 2 for usage, 1
 * for failure.
 */
@Command(
    name = "sumac",
    description =
        "In-network aggregation in user space: a switch that adds the packets on their way.",
    subcommands = {
      DemoCommand.class,
      SimulateCommand.class,
      SwitchCommand.class,
      AllReduceCommand.class,
      StatusCommand.class,
      DemoWorkerCommand.class,
      RehearsalCommand.class,
      SoakCommand.class,
      SoakWorkerCommand.class,
      CommandLine.HelpCommand.class
    },
    mixinStandardHelpOptions = true,
    version = "sumac 0.1.0")
public final class Sumac implements Runnable {
  @CommandLine.Spec private CommandLine.Model.CommandSpec spec;

  public static void main(String[] args) {
    // Words and numbers are the same everywhere: no Turkish i, no decimal comma.
    Locale.setDefault(Locale.ROOT);
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    CommandLine commandLine = new CommandLine(new Sumac());
    commandLine.setCaseInsensitiveEnumValuesAllowed(true);
    commandLine.setParameterExceptionHandler(Sumac::onUsageError);
    commandLine.setExecutionExceptionHandler(Sumac::onFailure);
    return commandLine;
  }

  @Override
  public void run() {
    spec.commandLine().usage(System.out);
  }

  private static int onUsageError(CommandLine.ParameterException e, String[] args) {
    CommandLine command = e.getCommandLine();
    PrintWriter err = command.getErr();
    err.println(
        command.getCommandSpec().qualifiedName()
            + ": "
            + oneLine(e)
            + " (see: "
            + command.getCommandSpec().qualifiedName()
            + " --help)");
    err.flush();
    return CommandLine.ExitCode.USAGE;
  }

  private static int onFailure(Exception e, CommandLine command, CommandLine.ParseResult parsed) {
    PrintWriter err = command.getErr();
    err.println(command.getCommandSpec().qualifiedName() + ": " + oneLine(e));
    err.flush();
    return e instanceof IllegalArgumentException
        ? CommandLine.ExitCode.USAGE
        : CommandLine.ExitCode.SOFTWARE;
  }

  private static String oneLine(Exception e) {
    String message = e.getMessage() == null ? e.toString() : e.getMessage();
    return message.replaceAll("\\s*\\R\\s*", "; ");
  }
}
