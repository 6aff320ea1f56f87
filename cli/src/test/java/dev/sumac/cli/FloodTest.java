package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.Counter;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import io.grpc.Attributes;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A switch under a flood of bad packets and of joins with random names. Cases 63 to 65. */
@Tag("slow")
@Timeout(120)
final class FloodTest {
  private static final int BAD_PACKETS_A_SECOND = 20_000;
  private static final int BAD_JOINS_A_SECOND = 1_000;
  private static final int CHANNELS = 8;
  private static final int STREAMS_A_CHANNEL = 50;
  private static final int MAX_STREAMS = 200;
  private static final long FLOOD_NS = 10_000_000_000L;
  private static final long JOIN_BOUND_NS = 10_000_000_000L;

  private final AtomicLong joins = new AtomicLong();
  private final AtomicLong open = new AtomicLong();
  private long slowestNs;
  private volatile boolean over;

  @Test
  void aTrueJobJoinsAndSumsExactlyDuringTheFlood() throws Exception {
    try (LocalJob job =
        new LocalJob(
            2,
            options -> options.token("secret").maxStreams(MAX_STREAMS).maxPendingJoins(50),
            options ->
                options.token("secret").authenticate(true).timeout(Duration.ofSeconds(20)))) {
      AggregationSwitch theSwitch = job.aggregationSwitch();
      HostPort address = new HostPort("127.0.0.1", theSwitch.port());
      job.run(FloodTest::wrongElements); // Classes are loaded before time counts.
      Thread packets = new Thread(() -> sendBadPackets(theSwitch.shardPorts().get(0)), "flood");
      packets.start();
      List<ManagedChannel> channels = openChannels(address);
      Thread strangers = new Thread(() -> floodWithJoins(channels), "strangers");
      strangers.start();
      int rounds;
      try {
        rounds = joinAgainAndAgain(job, address);
      } finally {
        over = true;
        packets.join();
        strangers.join();
        channels.forEach(ManagedChannel::shutdownNow);
      }
      long malformed = theSwitch.count(Counter.MALFORMED_BAD_MAGIC);
      long forged = theSwitch.count(Counter.DROPPED_NO_FLOW_ENTRY);
      System.out.printf(
          "%d jobs joined during %,d bad joins and %,d bad packets, the slowest in %.3f s%n",
          rounds, joins.get(), malformed + forged, slowestNs / 1e9);
      assertTrue(malformed > 0 && forged > 0 && joins.get() > 100);
    }
  }

  /** Only packets, on a switch in a small process of its own: joins must hardly notice. */
  @Test
  void aTrueJobJoinsAtOnceDuringAFloodOfPackets() throws Exception {
    try (Processes processes = new Processes()) {
      Processes.Run theSwitch =
          processes.sumac(
              System.getProperty("java.home"),
              List.of("-Xmx256m"),
              Map.of(),
              "switch",
              "--bind",
              "127.0.0.1",
              "--port",
              "" + freePort()); // Control and data have the same number then.
      HostPort address = HostPort.parse(theSwitch.awaitLine("ready "));
      openAndClose(address); // Classes are loaded before time counts.
      Thread packets = new Thread(() -> sendBadPackets(address.port()), "flood");
      packets.start();
      List<Long> tookNs = new ArrayList<>();
      long startNs = System.nanoTime();
      try {
        while (System.nanoTime() - startNs < FLOOD_NS) {
          long joinNs = System.nanoTime();
          openAndClose(address);
          tookNs.add(System.nanoTime() - joinNs);
        }
      } finally {
        over = true;
        packets.join();
      }
      double seconds = (System.nanoTime() - startNs) / 1e9;
      Collections.sort(tookNs);
      StatusReply status = SwitchStatus.of(address);
      System.out.printf(
          "%,.0f bad packets a second reached the switch (-Xmx256m, %d MB resident); %d joins meanwhile:"
              + " median %.3f s, slowest %.3f s%n",
          status.getCountersMap().get("malformed-bad-magic") * 2 / seconds,
          status.getResidentBytes() / 1_000_000,
          tookNs.size(),
          tookNs.get(tookNs.size() / 2) / 1e9,
          tookNs.get(tookNs.size() - 1) / 1e9);
      assertTrue(tookNs.get(tookNs.size() - 1) < JOIN_BOUND_NS);
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static void openAndClose(HostPort address) {
    try (Communicator communicator =
        Communicator.open(
            CommunicatorConfig.builder().switchAddress(address.host(), address.port()).build())) {
      communicator.allReduce(new int[10]);
    }
  }

  private int joinAgainAndAgain(LocalJob job, HostPort address) throws Exception {
    long startNs = System.nanoTime();
    int rounds = 0;
    while (System.nanoTime() - startNs < FLOOD_NS) {
      long joinNs = System.nanoTime();
      assertEquals(List.of(0, 0), job.run(FloodTest::wrongElements));
      long tookNs = System.nanoTime() - joinNs;
      slowestNs = Math.max(slowestNs, tookNs);
      assertTrue(tookNs < JOIN_BOUND_NS, tookNs / 1e9 + " s for a job");
      assertTrue(SwitchStatus.of(address).getCountersMap().get("control-streams") <= MAX_STREAMS);
      rounds++;
    }
    return rounds;
  }

  private static int wrongElements(Communicator communicator) {
    int[] values = new int[10_000];
    Arrays.setAll(values, i -> communicator.rank() * i);
    communicator.allReduce(values);
    int wrong = 0;
    for (int i = 0; i < values.length; i++) {
      wrong += values[i] == i ? 0 : 1;
    }
    return wrong;
  }

  /** Half are no packets at all, half are well formed and of no run. */
  private void sendBadPackets(int port) {
    SplittableRandom random = new SplittableRandom(64);
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[AggregationHeader.packetBytes(8)]);
    AggregationHeader header = new AggregationHeader();
    try (DatagramSocket socket = new DatagramSocket()) {
      long dueNs = System.nanoTime();
      for (long sent = 0; !over; sent++) {
        if ((sent & 1) == 0) {
          for (int i = 0; i + Long.BYTES <= buffer.capacity(); i += Long.BYTES) {
            buffer.putLong(i, random.nextLong(), ByteOrder.LITTLE_ENDIAN);
          }
        } else {
          header
              .start(
                  buffer,
                  0,
                  PacketKind.CONTRIBUTION,
                  dev.sumac.protocol.Tag.word(60_000, 0, 1, 0, dev.sumac.protocol.Tag.SWITCH))
              .cookie(random.nextLong())
              .elementCount(8)
              .finish(buffer);
        }
        socket.send(
            new DatagramPacket(
                buffer.byteArray(), buffer.capacity(), InetAddress.getLoopbackAddress(), port));
        dueNs += 1_000_000_000L / BAD_PACKETS_A_SECOND;
        long aheadNs = dueNs - System.nanoTime();
        if (aheadNs > 1_000_000) {
          LockSupport.parkNanos(aheadNs);
        } else if (aheadNs < -1_000_000) {
          dueNs -= aheadNs; // What was missed is not made up for in a burst.
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<ManagedChannel> openChannels(HostPort address) {
    List<ManagedChannel> channels = new ArrayList<>();
    for (int i = 0; i < CHANNELS; i++) {
      channels.add(
          NettyChannelBuilder.forAddress(address.host(), address.port())
              .usePlaintext()
              .localSocketPicker(new FromAnotherHost())
              .build());
    }
    return channels;
  }

  /** As many joins a second as wanted, while no more than so many are open. */
  private void floodWithJoins(List<ManagedChannel> channels) {
    for (long sent = 0; !over; sent++) {
      LockSupport.parkNanos(1_000_000_000L / BAD_JOINS_A_SECOND);
      if (open.get() < CHANNELS * STREAMS_A_CHANNEL) {
        join(channels.get((int) (sent % CHANNELS)), (sent & 8) == 0);
      }
    }
  }

  /** A join with a random name; some guess a proof, some are silent. */
  private void join(ManagedChannel channel, boolean guesses) {
    joins.incrementAndGet();
    open.incrementAndGet();
    Stranger stranger = new Stranger(guesses);
    stranger.requests = ControlGrpc.newStub(channel).join(stranger);
    stranger.requests.onNext(
        WorkerMessage.newBuilder()
            .setJoin(
                JoinRequest.newBuilder()
                    .setProtocolVersion(AggregationHeader.VERSION)
                    .setJob("job " + ThreadLocalRandom.current().nextLong())
                    .setWorldSize(2)
                    .setWindow(8))
            .build());
  }

  /** The whole of 127.0.0.0/8 is this host: strangers have an address of their own. */
  private static final class FromAnotherHost extends NettyChannelBuilder.LocalSocketPicker {
    @Override
    public SocketAddress createSocketAddress(SocketAddress remote, Attributes attributes) {
      return new InetSocketAddress("127.0.0.2", 0);
    }
  }

  private final class Stranger implements StreamObserver<SwitchMessage> {
    private final boolean guesses;
    private volatile StreamObserver<WorkerMessage> requests;

    Stranger(boolean guesses) {
      this.guesses = guesses;
    }

    @Override
    public void onNext(SwitchMessage message) {
      if (message.hasChallenge() && guesses) {
        requests.onNext(
            WorkerMessage.newBuilder()
                .setProof(JoinProof.newBuilder().setTag(ByteString.copyFrom(new byte[32])))
                .build());
      }
    }

    @Override
    public void onError(Throwable error) {
      open.decrementAndGet();
    }

    @Override
    public void onCompleted() {
      open.decrementAndGet();
    }
  }
}
