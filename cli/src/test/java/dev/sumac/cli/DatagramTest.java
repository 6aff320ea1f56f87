package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.Counter;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.protocol.PacketKind;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.transport.UdpConfig;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Datagrams as networks, strangers and earlier runs deliver them. */
@Timeout(60)
final class DatagramTest {
  @ParameterizedTest
  @Tag("case-46")
  @CsvSource({"NIO, 600", "EPOLL, 600", "NIO, 2000", "EPOLL, 2000"})
  void packetsLongerThanUsualReadBuffersArriveWhole(UdpConfig.Io io, int elements)
      throws Exception {
    int length = 10 * elements + 1;
    try (LocalJob job =
        new LocalJob(
            2, options -> options.io(io).elementsPerPacket(elements), options -> options.io(io))) {
      List<int[]> results =
          job.run(
              communicator -> {
                int[] values = new int[length];
                Arrays.setAll(values, i -> i * (communicator.rank() + 1));
                communicator.allReduce(values);
                return values;
              });
      int[] expected = new int[length];
      Arrays.setAll(expected, i -> 3 * i);
      results.forEach(result -> assertArrayEquals(expected, result));
      assertEquals(0, job.aggregationSwitch().count(Counter.MALFORMED_TRUNCATED));
    }
  }

  @ParameterizedTest
  @Tag("case-46")
  @CsvSource({"NIO", "EPOLL"})
  void aPacketCutShortIsCountedAndOneByteMoreIsNotPartOfIt(UdpConfig.Io io) throws Exception {
    try (LocalJob job = new LocalJob(1, options -> options.io(io), options -> options)) {
      AggregationSwitch target = job.aggregationSwitch();
      try (RawWorker worker = new RawWorker(target.port(), "cut", 0, 1)) {
        worker.awaitStart();
        byte[] packet = worker.contribution(0, 2, 5, 6);
        worker.send(Arrays.copyOf(packet, packet.length - 1));
        Conditions.await("counted", () -> target.count(Counter.MALFORMED_TRUNCATED) == 1);
        assertEquals(0, target.count(Counter.CONTRIBUTIONS));
        worker.send(Arrays.copyOf(packet, packet.length + 1));
        assertEquals(2, worker.receive(PacketKind.RESULT).elementCount());
        Conditions.await("counted", () -> target.count(Counter.MALFORMED_TOO_SHORT) == 1);
        assertEquals(1, target.count(Counter.CONTRIBUTIONS));
      }
    }
  }

  /** One bit in a thousand packets, each way; the check value finds it, a repetition mends it. */
  @Test
  @Tag("case-55")
  void flippedBitsAreFoundAndCostOnlyARepetition() throws Exception {
    FaultSpec damage = new FaultSpec(0, 1, 0, 0, 1_000_000, 0.001, 55);
    int length = 352 * 1_500;
    try (LocalJob job =
        new LocalJob(
            2, options -> options.faults(damage), options -> options.faults(damage.withSeed(56)))) {
      job.run(
          communicator -> {
            for (int operation = 0; operation < 4; operation++) {
              int[] values = new int[length];
              int key = operation;
              Arrays.setAll(values, i -> i * 7 + communicator.rank() + key);
              communicator.allReduce(values);
              for (int i = 0; i < length; i++) {
                assertEquals(14 * i + 1 + 2 * key, values[i]);
              }
            }
            return null;
          });
      AggregationSwitch target = job.aggregationSwitch();
      long malformed = 0;
      for (Counter counter : Counter.values()) {
        if (counter.name().startsWith("MALFORMED_")) {
          malformed += target.count(counter);
        }
      }
      assertTrue(malformed > 0, "no packet was damaged");
    }
  }

  /** All packets of the first run, each twice, shuffled, during the second run of the same name. */
  @Test
  @Tag("case-58")
  void packetsOfAnEarlierRunAreDroppedAndCounted() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      AggregationSwitch target = job.aggregationSwitch();
      List<byte[]> recorded = new ArrayList<>();
      try (RawWorker first = new RawWorker(target.port(), "job-7", 0, 1)) {
        first.awaitStart();
        for (int chunk = 0; chunk < 400; chunk++) {
          byte[] packet = first.contribution(chunk, 400, chunk);
          recorded.add(packet);
          recorded.add(packet);
          first.send(packet);
          first.receive(PacketKind.RESULT);
        }
        recorded.add(first.control(PacketKind.PROBE, 0));
        recorded.add(first.control(PacketKind.ANSWER, 0));
      }
      HostPort address = new HostPort("127.0.0.1", target.port());
      Conditions.await("the first run is over", () -> SwitchStatus.of(address).getJobsCount() == 0);
      Collections.shuffle(recorded, new Random(58));
      long droppedBefore = strangers(target);
      InetSocketAddress shard =
          new InetSocketAddress(InetAddress.getLoopbackAddress(), target.shardPorts().get(0));
      try (DatagramSocket replay = new DatagramSocket()) {
        job.run(
            communicator -> {
              for (int operation = 0; operation < 50; operation++) {
                if (communicator.rank() == 0) {
                  for (byte[] packet :
                      recorded.subList(
                          operation * recorded.size() / 50,
                          (operation + 1) * recorded.size() / 50)) {
                    replay.send(new DatagramPacket(packet, packet.length, shard));
                  }
                }
                int[] values = new int[500];
                Arrays.fill(values, operation + communicator.rank());
                communicator.allReduce(values);
                int[] expected = new int[500];
                Arrays.fill(expected, 2 * operation + 1);
                assertArrayEquals(expected, values);
              }
              return null;
            });
      }
      Conditions.await("all counted", () -> strangers(target) - droppedBefore == recorded.size());
    }
  }

  /** What strangers sent: by flow entry, run or cookie. */
  private static long strangers(AggregationSwitch target) {
    return target.count(Counter.DROPPED_NO_FLOW_ENTRY)
        + target.count(Counter.DROPPED_WRONG_RUN)
        + target.count(Counter.DROPPED_WRONG_COOKIE);
  }

  /** Even with the run's secret: an unproved address gets no result and adds nothing. */
  @Test
  @Tag("case-63")
  void aStrangerWhoKnowsTheSecretChangesNoSumAndGetsNoMoreBytesThanItSends() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      AggregationSwitch target = job.aggregationSwitch();
      try (RawWorker zero = new RawWorker(target.port(), "spoof", 0, 2);
          RawWorker one = new RawWorker(target.port(), "spoof", 1, 2);
          DatagramSocket stranger = new DatagramSocket()) {
        zero.awaitStart();
        one.awaitStart();
        InetSocketAddress shard =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), target.shardPorts().get(0));
        zero.send(zero.contribution(0, 1, 40));
        Conditions.await("rank 0 is in", () -> target.count(Counter.CONTRIBUTIONS) == 1);
        long bytesOut = 0;
        List<byte[]> forged =
            List.of(
                one.contribution(0, 1, 1_000),
                one.control(PacketKind.PROBE, 0),
                one.control(PacketKind.ANSWER, 0),
                one.control(PacketKind.PROBE, 0));
        for (byte[] packet : forged) {
          stranger.send(new DatagramPacket(packet, packet.length, shard));
          bytesOut += packet.length;
        }
        Conditions.await(
            "the stranger is counted", () -> target.count(Counter.DROPPED_UNPROVED_SOURCE) == 4);
        assertEquals(1, target.count(Counter.CONTRIBUTIONS));
        one.send(one.contribution(0, 1, 2));
        assertEquals(1, zero.receive(PacketKind.RESULT).elementCount());
        assertEquals(1, target.count(Counter.CHUNKS_COMPLETED));
        stranger.setSoTimeout(200);
        long bytesIn = 0;
        try {
          while (true) {
            DatagramPacket answer = new DatagramPacket(new byte[2_000], 2_000);
            stranger.receive(answer);
            bytesIn += answer.getLength();
          }
        } catch (SocketTimeoutException e) {
          assertEquals(0, bytesIn, "answered " + bytesIn + " B for " + bytesOut);
        }
      }
    }
  }

  /** A rank's socket closes while results are sent to it; jobs beside it go on. */
  @Test
  @Tag("case-50")
  void aPortThatNobodyReadsStopsNoOtherJob() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      AggregationSwitch target = job.aggregationSwitch();
      try (RawWorker gone = new RawWorker(target.port(), "gone", 0, 2);
          RawWorker stays = new RawWorker(target.port(), "gone", 1, 2)) {
        gone.awaitStart();
        stays.awaitStart();
        for (int chunk = 0; chunk < 100; chunk++) {
          gone.send(gone.contribution(chunk, 100, 1));
        }
        Conditions.await("rank 0 is in", () -> target.count(Counter.CONTRIBUTIONS) == 100);
        gone.socket().close();
        job.run(
            communicator -> {
              for (int operation = 0; operation < 100; operation++) {
                if (communicator.rank() == 0) {
                  // Completes the chunk: the result goes to the closed port, and ICMP answers.
                  stays.send(stays.contribution(operation, 100, 1));
                }
                int[] values = {operation};
                communicator.allReduce(values);
                assertEquals(2 * operation, values[0]);
              }
              return null;
            });
      }
    }
  }

  @Test
  @Tag("case-50")
  @Tag("case-27")
  void aWorkerThatStartsBeforeTheSwitchJoinsWhenItComes() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    var joining =
        CompletableFuture.supplyAsync(
            () ->
                Communicator.open(
                    CommunicatorConfig.builder()
                        .switchAddress("127.0.0.1", port)
                        .timeout(Duration.ofSeconds(30))
                        .build()));
    // The first attempts find nobody there.
    assertThrows(TimeoutException.class, () -> joining.get(700, TimeUnit.MILLISECONDS));
    try (AggregationSwitch late =
            AggregationSwitch.start(SwitchConfig.builder().port(port).build());
        var communicator = joining.get(30, TimeUnit.SECONDS)) {
      int[] values = {7};
      communicator.allReduce(values);
      assertEquals(7, values[0]);
      assertEquals(1, late.count(Counter.CHUNKS_COMPLETED));
    }
  }
}
