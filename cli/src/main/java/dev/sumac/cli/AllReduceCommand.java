package dev.sumac.cli;

import dev.sumac.protocol.OperationKind;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import dev.sumac.worker.CommunicatorStats;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code sumac allreduce}: one rank of one AllReduce over a .npy file. */
@Command(
    name = "allreduce",
    description = {
      "One rank of one AllReduce: reads a .npy file (float32 or int32), reduces it element by element",
      "with those of the other ranks, writes the result. Run it once for each rank."
    },
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    sortOptions = false)
final class AllReduceCommand implements Callable<Integer> {
  @Mixin private WorkerOptions worker;

  @Option(names = "--input", description = "This rank's .npy file.", required = true)
  private Path input;

  @Option(
      names = "--output",
      description = "Where the result goes, whole or not at all.",
      required = true)
  private Path output;

  @Option(names = "--op", description = "${COMPLETION-CANDIDATES}.", defaultValue = "sum")
  private OperationKind kind;

  @Override
  public Integer call() throws IOException {
    CommunicatorConfig config = worker.config();
    NpyFile array = NpyFile.read(input);
    Path folder = output.toAbsolutePath().getParent();
    if (!Files.isDirectory(folder)) {
      throw new IOException("--output " + output + ": no such folder");
    }
    try (Communicator communicator = Communicator.open(config)) {
      long startNs = System.nanoTime();
      if (array.isFloat()) {
        FloatBuffer values =
            array.data().duplicate().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
        communicator.allReduce(values, values, kind);
      } else {
        IntBuffer values = array.data().duplicate().order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
        communicator.allReduce(values, values, kind);
      }
      double seconds = (System.nanoTime() - startNs) / 1e9;
      CommunicatorStats stats = communicator.stats();
      array.write(output);
      System.out.printf(
          "rank %d: %s of %d x %s over %d ranks in %.3f s, %d packets sent, %d of them again -> %s%n",
          config.rank(),
          kind,
          array.length(),
          array.isFloat() ? "float32" : "int32",
          config.worldSize(),
          seconds,
          stats.packetsSent(),
          stats.retransmissions(),
          output);
    }
    return 0;
  }
}
