package dev.sumac.cli;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.transport.UdpConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code sumac switch}: runs a switch until it is stopped. */
@Command(
    name = "switch",
    description = "Runs a switch until Ctrl-C. Prints 'ready HOST:PORT' when workers may join.",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    sortOptions = false)
final class SwitchCommand implements Callable<Integer> {
  private static final Logger GRPC_LOG = Logger.getLogger("io.grpc");

  @Option(names = "--bind", description = "Local address to listen on.", defaultValue = "0.0.0.0")
  private InetAddress bind;

  @Option(
      names = "--port",
      description =
          "TCP port of the control channel; shard i takes UDP port PORT + i. 0: the system chooses.",
      defaultValue = "" + SwitchConfig.DEFAULT_PORT)
  private int port;

  @Option(
      names = "--shards",
      description = "Shards, each with a thread, a UDP port and slots of its own.",
      defaultValue = "1")
  private int shards;

  @Option(
      names = "--slots",
      description = "Slots of each shard, for all jobs together.",
      defaultValue = "" + SwitchConfig.DEFAULT_SLOTS)
  private int slots;

  @Mixin private PacketSize packetSize;

  @Mixin private SwitchSecurity security;

  @Option(names = "--max-jobs", description = "Most jobs at a time.", defaultValue = "64")
  private int maxJobs;

  @Option(
      names = "--receive-buffer",
      description = "Bytes of receive buffer to ask of the kernel for each shard.",
      defaultValue = "" + UdpConfig.DEFAULT_BUFFER_BYTES)
  private int receiveBufferBytes;

  @Option(
      names = "--io",
      description = "Transport: ${COMPLETION-CANDIDATES}.",
      defaultValue = "best")
  private UdpConfig.Io io;

  @Option(
      names = "--faults",
      description =
          "Faults to make on arriving packets, to try things out: loss=P,burst=N,duplicate=P,"
              + "reorder=P,delay-us=N,damage=P,seed=N.",
      defaultValue = "")
  private String faults;

  @Option(names = "--end-with-stdin", hidden = true)
  private boolean endWithStdin;

  @Override
  public Integer call() throws IOException, InterruptedException {
    // gRPC tells of every connection that breaks, with a stack trace: strangers could fill a disk.
    GRPC_LOG.setLevel(Level.WARNING);
    SwitchConfig config =
        security
            .apply(SwitchConfig.builder())
            .bind(bind)
            .port(port)
            .shards(shards)
            .slots(slots)
            .elementsPerPacket(packetSize.elements(SwitchConfig.DEFAULT_ELEMENTS_PER_PACKET))
            .maxJobs(maxJobs)
            .receiveBufferBytes(receiveBufferBytes)
            .io(io)
            .faults(FaultSpec.parse(faults))
            .build();
    AggregationSwitch running = AggregationSwitch.start(config);
    Runtime.getRuntime().addShutdownHook(new Thread(running::close, "sumac-close"));
    if (endWithStdin) {
      Children.endWithStdin();
    }
    System.out.println("ready " + bind.getHostAddress() + ":" + running.port());
    System.out.flush();
    running.awaitClosed();
    return 0;
  }
}
