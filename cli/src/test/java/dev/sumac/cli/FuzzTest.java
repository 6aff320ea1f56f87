package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.Counter;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Malformed;
import dev.sumac.protocol.PacketKind;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorStats;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Mutated datagrams at live sockets, with a job beside them whose sums must stay exact. */
@Timeout(300)
final class FuzzTest {
  private static final int DATAGRAMS = Integer.getInteger("sumac.cases.datagrams", 100_000);
  private static final long SEED = Long.getLong("sumac.cases.seed", System.nanoTime() & 0xFFFF);
  private static final int BATCH = 1_000;
  private static final int IN_FLIGHT = 64;

  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);

  @BeforeEach
  void listen() {
    System.out.println("seed " + SEED + " (-Dsumac.cases.seed=" + SEED + ")");
    log.start();
    root.addAppender(log);
  }

  @AfterEach
  void stopListening() {
    root.detachAppender(log);
  }

  /**
   * From a proved address, with the run's secret, most of them with a mended check value: as far in
   * as a stranger can get.
   */
  @Test
  void mutatedDatagramsAtTheSwitchAreCountedByReasonAndDisturbNobody() throws Exception {
    SplittableRandom random = new SplittableRandom(SEED);
    try (LocalJob job = new LocalJob(2)) {
      AggregationSwitch target = job.aggregationSwitch();
      AtomicBoolean fuzzing = new AtomicBoolean(true);
      var beside = job.start(rank -> exactUntil(job, rank, fuzzing));
      Map<Malformed, Long> expected = new EnumMap<>(Malformed.class);
      try {
        for (int batch = 0; batch < DATAGRAMS / BATCH; batch++) {
          // A run of its own for each batch: a hostile rank can end its own run.
          try (RawWorker hostile = new RawWorker(target.port(), "hostile" + batch, 0, 2);
              RawWorker other = new RawWorker(target.port(), "hostile" + batch, 1, 2)) {
            hostile.awaitStart();
            for (int i = 0; i < BATCH; i++) {
              List<byte[]> seeds =
                  List.of(
                      hostile.contribution(i % 512, 3, 1, 2, 3),
                      hostile.contribution(i % 512, 352, new int[352]),
                      hostile.contribution(Long.MAX_VALUE - i, Integer.MAX_VALUE, 7),
                      hostile.control(PacketKind.PROBE, 0),
                      hostile.control(PacketKind.ANSWER, -1),
                      other.contribution(i % 512, 3, 1, 2, 3));
              byte[] datagram = mutate(random, seeds);
              tally(datagram, expected);
              long waitFor = sum(expected) - IN_FLIGHT;
              Conditions.await("the switch keeps up", () -> malformed(target) >= waitFor);
              hostile.send(datagram);
            }
          }
        }
        Conditions.await("all taken in", () -> malformed(target) == sum(expected));
      } finally {
        fuzzing.set(false);
      }
      assertTrue(LocalJob.results(beside).get(0) > 0);
      expected.forEach(
          (reason, times) ->
              assertEquals(
                  times, target.count(Counter.valueOf("MALFORMED_" + reason.name())), "" + reason));
      HostPort address = new HostPort("127.0.0.1", target.port());
      Map<String, Long> counters = SwitchStatus.of(address).getCountersMap();
      assertEquals(0, counters.get("kernel-drops"));
      // Every packet has one fate; only those that prove addresses are answered and not counted.
      long fates = 0;
      for (Counter counter : Counter.values()) {
        if (counter.name().startsWith("DROPPED_") || counter.name().startsWith("MALFORMED_")) {
          fates += target.count(counter);
        }
      }
      fates += target.count(Counter.CONTRIBUTIONS) + target.count(Counter.RESULTS_REPEATED);
      long uncounted = target.count(Counter.PACKETS_IN) - fates;
      assertTrue(uncounted >= 8 && uncounted < DATAGRAMS / 2, uncounted + " without a fate");
    }
    assertNoExceptions();
  }

  /** From another address of this machine with the shard's port number. */
  @Test
  void mutatedDatagramsAtAWorkerAreDroppedAndDisturbNoSum() throws Exception {
    SplittableRandom random = new SplittableRandom(SEED);
    try (LocalJob job = new LocalJob(2)) {
      AggregationSwitch target = job.aggregationSwitch();
      Set<Integer> before = ownUdpPorts();
      AtomicBoolean fuzzing = new AtomicBoolean(true);
      AtomicLong dropped = new AtomicLong();
      var ranks =
          job.start(
              rank -> {
                try (Communicator communicator = Communicator.open(job.config(rank).build())) {
                  reduceUntil(communicator, fuzzing, dropped);
                  return communicator.stats().packetsDropped();
                }
              });
      HostPort address = new HostPort("127.0.0.1", target.port());
      Conditions.await(
          "the job runs",
          () -> SwitchStatus.of(address).getJobsList().stream().anyMatch(one -> one.getStarted()));
      Set<Integer> ports = ownUdpPorts();
      ports.removeAll(before);
      assertEquals(2, ports.size(), "the workers' sockets");
      List<InetSocketAddress> workers =
          ports.stream()
              .map(port -> new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
              .toList();
      long sent = 0;
      try (RawWorker other = new RawWorker(target.port(), "other", 0, 1);
          DatagramSocket hostile =
              new DatagramSocket(new InetSocketAddress("127.0.0.2", target.shardPorts().get(0)))) {
        byte[] result = other.contribution(0, 3, 1, 2, 3);
        result[11] = PacketKind.RESULT.code();
        byte[] solicit = other.control(PacketKind.PROBE, 0);
        solicit[11] = PacketKind.SOLICIT.code();
        List<byte[]> seeds = List.of(result, solicit, other.contribution(5, 9, new int[352]));
        for (int i = 0; i < DATAGRAMS; i++) {
          byte[] datagram = mutate(random, seeds);
          if (datagram.length > 0) {
            sent++;
          }
          InetSocketAddress to = workers.get(i % 2);
          hostile.send(new DatagramPacket(datagram, datagram.length, to));
          long waitFor = sent / 2 - 200;
          Conditions.await("the workers keep up", () -> dropped.get() >= waitFor);
        }
      } finally {
        fuzzing.set(false);
      }
      long droppedByAll = LocalJob.results(ranks).stream().mapToLong(one -> one).sum();
      // A datagram ends with its first bad packet, so each is dropped once.
      assertTrue(droppedByAll > sent * 9 / 10 && droppedByAll <= sent, droppedByAll + "/" + sent);
    }
    assertNoExceptions();
  }

  private static long exactUntil(LocalJob job, int rank, AtomicBoolean going) throws Exception {
    try (Communicator communicator = Communicator.open(job.config(rank).build())) {
      return reduceUntil(communicator, going, new AtomicLong());
    }
  }

  /**
   * Exact sums until the flag falls; the last element carries the flag, so that all ranks agree.
   */
  private static long reduceUntil(
      Communicator communicator, AtomicBoolean going, AtomicLong dropped) {
    for (long operation = 0; ; operation++) {
      int[] values = new int[400];
      Arrays.fill(values, (int) operation + communicator.rank());
      values[399] = communicator.rank() == 0 && !going.get() ? 1 : 0;
      communicator.allReduce(values);
      int[] expected = new int[400];
      Arrays.fill(expected, 2 * (int) operation + 1);
      expected[399] = values[399];
      assertArrayEquals(expected, values);
      if (communicator.rank() == 0) {
        CommunicatorStats stats = communicator.stats();
        dropped.set(stats.packetsDropped());
      }
      if (values[399] != 0) {
        return operation;
      }
    }
  }

  /** Flips bits, cuts, stretches, joins, overwrites fields; mostly mends the check value. */
  private static byte[] mutate(SplittableRandom random, List<byte[]> seeds) {
    byte[] bytes = seeds.get(random.nextInt(seeds.size())).clone();
    int changes = random.nextInt(1, 5);
    for (int i = 0; i < changes; i++) {
      int at = random.nextInt(Math.min(bytes.length, AggregationHeader.HEADER_BYTES + 8));
      switch (random.nextInt(3)) {
        case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> bytes[at] = (byte) random.nextInt();
        default -> bytes[at] = (byte) (random.nextBoolean() ? 0 : 0xFF);
      }
    }
    if (random.nextInt(4) > 0) {
      mend(bytes);
    }
    return switch (random.nextInt(8)) {
      case 0 -> Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
      case 1 -> Arrays.copyOf(bytes, bytes.length + random.nextInt(1, 60));
      case 2 -> {
        byte[] second = seeds.get(random.nextInt(seeds.size()));
        byte[] joined = Arrays.copyOf(bytes, bytes.length + second.length);
        System.arraycopy(second, 0, joined, bytes.length, second.length);
        yield joined;
      }
      default -> bytes;
    };
  }

  private static void mend(byte[] bytes) {
    UnsafeBuffer buffer = new UnsafeBuffer(bytes);
    AggregationHeader header = new AggregationHeader();
    header.check(buffer, 0, bytes.length);
    if (header.packetBytes() <= bytes.length) {
      header.finish(buffer);
    }
  }

  /** Adds the reason that ends a datagram, if any. */
  private static void tally(byte[] datagram, Map<Malformed, Long> expected) {
    UnsafeBuffer buffer = new UnsafeBuffer(datagram);
    AggregationHeader header = new AggregationHeader();
    int at = 0;
    do {
      Malformed reason = header.check(buffer, at, datagram.length - at);
      if (reason != Malformed.NONE) {
        expected.merge(reason, 1L, Long::sum);
        return;
      }
      at += header.packetBytes();
    } while (at < datagram.length);
  }

  private static long malformed(AggregationSwitch target) {
    return Stream.of(Counter.values())
        .filter(counter -> counter.name().startsWith("MALFORMED_"))
        .mapToLong(target::count)
        .sum();
  }

  private static long sum(Map<Malformed, Long> tally) {
    return tally.values().stream().mapToLong(Long::longValue).sum();
  }

  /** UDP ports that sockets of this process are bound to, as proc(5) tells. */
  private static Set<Integer> ownUdpPorts() throws IOException {
    Set<String> inodes = new HashSet<>();
    try (Stream<Path> entries = Files.list(Path.of("/proc/self/fd"))) {
      for (Path entry : entries.toList()) {
        try {
          inodes.add(Files.readSymbolicLink(entry).toString().replaceAll("\\D", ""));
        } catch (IOException e) {
          inodes.add("closed meanwhile");
        }
      }
    }
    Set<Integer> ports = new HashSet<>();
    for (String line : Files.readAllLines(Path.of("/proc/self/net/udp"))) {
      String[] fields = line.strip().split("\\s+", -1);
      if (fields.length > 9 && inodes.contains(fields[9])) {
        ports.add(Integer.parseInt(fields[1].substring(fields[1].indexOf(':') + 1), 16));
      }
    }
    return ports;
  }

  private void assertNoExceptions() {
    List<String> bad =
        List.copyOf(log.list).stream()
            .filter(event -> event.getLevel().isGreaterOrEqual(Level.ERROR))
            .map(event -> event.getFormattedMessage() + " " + event.getThrowableProxy())
            .toList();
    assertEquals(List.of(), bad);
  }
}
