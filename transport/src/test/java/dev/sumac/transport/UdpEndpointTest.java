package dev.sumac.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.sumac.reliability.FaultSpec;
import io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(30)
class UdpEndpointTest {
  private static final int PATIENCE_SECONDS = 10;

  /** A packet here: its length, its number, and bytes that follow from both. */
  private record Packet(int lengthBytes, int number) {}

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void packetsOfEverySizeArriveIntactAndInNumber(UdpConfig.Io io) throws Exception {
    try (Peer sender = new Peer(io);
        Peer receiver = new Peer(io)) {
      for (int lengthBytes : new int[] {60, 1_460, 9_000, 60_000}) {
        assertArrives(sender, receiver, Collections.nCopies(3, lengthBytes));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void moreThanSixtyFourPacketsOfOneTurnArrive(UdpConfig.Io io) throws Exception {
    try (Peer sender = new Peer(io);
        Peer receiver = new Peer(io)) {
      for (int packets : new int[] {63, 64, 65, 128, 129}) {
        assertArrives(sender, receiver, Collections.nCopies(packets, 60));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void moreBytesThanOneBatchHoldsArrive(UdpConfig.Io io) throws Exception {
    try (Peer sender = new Peer(io);
        Peer receiver = new Peer(io)) {
      assertArrives(sender, receiver, Collections.nCopies(50, 1_460));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void longAndShortPacketsOfOneTurnArriveIntact(UdpConfig.Io io) throws Exception {
    try (Peer sender = new Peer(io);
        Peer receiver = new Peer(io)) {
      assertArrives(sender, receiver, List.of(1_460, 60, 1_460));
      assertArrives(sender, receiver, List.of(60, 1_460, 60));
      assertArrives(sender, receiver, List.of(1_460, 1_460, 60, 60, 60, 9_000, 1_460, 100, 99, 98));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void severalReceiversGetTheSameBytes(UdpConfig.Io io) throws Exception {
    try (Peer sender = new Peer(io);
        Peer first = new Peer(io);
        Peer second = new Peer(io);
        Peer third = new Peer(io)) {
      List<Integer> lengths = List.of(1_460, 1_460, 60, 60, 1_460, 60);
      sender.send(List.of(first.address(), second.address(), third.address()), lengths);
      for (Peer receiver : List.of(first, second, third)) {
        assertEquals(numbered(lengths), receiver.take(lengths.size()));
        assertEquals(sender.address(), receiver.lastSource);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void aListenerIsTickedWhileTimeMattersToItAndNotAfterwards(UdpConfig.Io io) throws Exception {
    requireAvailable(io);
    CountDownLatch ticks = new CountDownLatch(5);
    AtomicInteger turnsAfterTheLast = new AtomicInteger();
    DatagramListener ticked =
        new DatagramListener() {
          @Override
          public void onDatagram(
              DirectBuffer buffer,
              int offset,
              int lengthBytes,
              InetSocketAddress source,
              long nowNs) {}

          @Override
          public boolean onTurn(long nowNs) {
            if (ticks.getCount() == 0) {
              turnsAfterTheLast.incrementAndGet();
            }
            ticks.countDown();
            return ticks.getCount() > 0;
          }
        };
    try (UdpEndpoint endpoint = UdpEndpoint.open(config(io), self -> ticked);
        Peer clock = new Peer(io)) {
      endpoint.wakeUp();
      assertTrue(ticks.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "ticks left");
      // Twenty ticks of another endpoint are long enough for this one's next.
      CountDownLatch elsewhere = new CountDownLatch(20);
      clock.tickDown(elsewhere);
      assertTrue(elsewhere.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      assertEquals(0, turnsAfterTheLast.get());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void aPortThatIsTakenIsNamedInOneLine(UdpConfig.Io io) throws Exception {
    try (Peer first = new Peer(io)) {
      IOException refusal =
          assertThrows(
              IOException.class,
              () ->
                  UdpEndpoint.open(UdpConfig.on(first.address(), "test").withIo(io), Peer::quiet)
                      .close());
      String message = refusal.getMessage();
      assertTrue(
          message.startsWith(
              "UDP port "
                  + first.address().getPort()
                  + " on "
                  + first.address().getHostString()
                  + " can't be bound: "),
          message);
      assertEquals(1, message.lines().count());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void anEndpointThatSentToAClosedPortStillReceives(UdpConfig.Io io) throws Exception {
    try (Peer sender = new Peer(io);
        Peer other = new Peer(io)) {
      InetSocketAddress closed;
      try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
        closed = new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
      }
      sender.send(List.of(closed), List.of(60, 60, 1_460));
      sender.send(List.of(closed), List.of(60));
      assertArrives(other, sender, List.of(60, 1_460));
      assertArrives(sender, other, List.of(60, 1_460));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void faultsOfTheConfigurationAreMadeOnArrival(UdpConfig.Io io) throws Exception {
    requireAvailable(io);
    CountDownLatch arrived = new CountDownLatch(1);
    CountDownLatch turns = new CountDownLatch(1);
    DatagramListener listener =
        new DatagramListener() {
          @Override
          public void onDatagram(
              DirectBuffer buffer,
              int offset,
              int lengthBytes,
              InetSocketAddress source,
              long nowNs) {
            arrived.countDown();
          }

          @Override
          public boolean onTurn(long nowNs) {
            turns.countDown();
            return false;
          }
        };
    UdpConfig lossy = config(io).withFaults(FaultSpec.parse("loss=1"));
    try (UdpEndpoint endpoint = UdpEndpoint.open(lossy, self -> listener);
        Peer sender = new Peer(io)) {
      sender.send(List.of(endpoint.localAddress()), List.of(60));
      assertTrue(turns.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "a turn follows the datagram");
      assertEquals(1, arrived.getCount());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void aClosedEndpointFreesItsPort(UdpConfig.Io io) throws Exception {
    InetSocketAddress address;
    try (Peer peer = new Peer(io)) {
      address = peer.address();
      assertFalse(address.getPort() == 0);
    }
    try (UdpEndpoint again =
        UdpEndpoint.open(UdpConfig.on(address, "test").withIo(io), Peer::quiet)) {
      assertEquals(address, again.localAddress());
      assertEquals(0, again.sendErrors());
    }
  }

  private static void assertArrives(Peer sender, Peer receiver, List<Integer> lengths)
      throws Exception {
    sender.send(List.of(receiver.address()), lengths);
    assertEquals(numbered(lengths), receiver.take(lengths.size()));
    assertEquals(sender.address(), receiver.lastSource);
  }

  private static List<Packet> numbered(List<Integer> lengths) {
    List<Packet> packets = new ArrayList<>();
    for (int i = 0; i < lengths.size(); i++) {
      packets.add(new Packet(lengths.get(i), i));
    }
    return packets;
  }

  private static void requireAvailable(UdpConfig.Io io) {
    boolean available = io != UdpConfig.Io.EPOLL || Epoll.isAvailable();
    if (!available) {
      System.out.println("skipped: epoll is not available: " + Epoll.unavailabilityCause());
    }
    assumeTrue(available, "epoll is not available");
  }

  private static UdpConfig config(UdpConfig.Io io) {
    return UdpConfig.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "test")
        .withIo(io);
  }

  /** An endpoint that sends patterned packets and takes apart what it receives. */
  private static final class Peer implements AutoCloseable {
    private final BlockingQueue<Packet> received = new ArrayBlockingQueue<>(10_000);
    private final UdpEndpoint endpoint;
    private volatile InetSocketAddress lastSource;
    private volatile CountDownLatch ticks = new CountDownLatch(0);

    Peer(UdpConfig.Io io) throws IOException {
      requireAvailable(io);
      endpoint = UdpEndpoint.open(config(io), self -> new Receiver());
    }

    static DatagramListener quiet(UdpEndpoint endpoint) {
      return new DatagramListener() {
        @Override
        public void onDatagram(
            DirectBuffer buffer,
            int offset,
            int lengthBytes,
            InetSocketAddress source,
            long nowNs) {}

        @Override
        public boolean onTurn(long nowNs) {
          return false;
        }
      };
    }

    InetSocketAddress address() {
      return endpoint.localAddress();
    }

    /** Sends packets of these lengths in one turn, numbered from 0. */
    void send(List<InetSocketAddress> receivers, List<Integer> lengths) {
      Outbox outbox = endpoint.outbox(receivers);
      endpoint.execute(
          () -> {
            for (int number = 0; number < lengths.size(); number++) {
              int lengthBytes = lengths.get(number);
              int at = outbox.claim(lengthBytes);
              outbox.buffer().putInt(at, lengthBytes);
              outbox.buffer().putInt(at + 4, number);
              for (int i = 8; i < lengthBytes; i++) {
                outbox.buffer().putByte(at + i, pattern(number, i));
              }
              outbox.commit();
            }
          });
    }

    /** The next packets, in the order of their numbers; fails when they don't come. */
    List<Packet> take(int count) throws InterruptedException {
      List<Packet> packets = new ArrayList<>();
      while (packets.size() < count) {
        Packet packet = received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertTrue(packet != null, "only " + packets.size() + " of " + count + " arrived");
        packets.add(packet);
      }
      packets.sort((a, b) -> Integer.compare(a.number(), b.number()));
      return packets;
    }

    void tickDown(CountDownLatch latch) {
      ticks = latch;
      endpoint.wakeUp();
    }

    @Override
    public void close() {
      endpoint.close();
    }

    private static byte pattern(int number, int at) {
      return (byte) (number * 31 + at * 7);
    }

    private final class Receiver implements DatagramListener {
      @Override
      public void onDatagram(
          DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
        lastSource = source;
        int at = offset;
        while (at < offset + lengthBytes) {
          int packetBytes = Math.max(8, buffer.getInt(at));
          received.add(new Packet(packetBytes, numberIfIntact(buffer, at, packetBytes)));
          at += packetBytes;
        }
      }

      @Override
      public boolean onTurn(long nowNs) {
        ticks.countDown();
        return ticks.getCount() > 0;
      }

      private int numberIfIntact(DirectBuffer buffer, int at, int packetBytes) {
        int number = buffer.getInt(at + 4);
        byte[] expected = new byte[packetBytes - 8];
        for (int i = 0; i < expected.length; i++) {
          expected[i] = pattern(number, i + 8);
        }
        byte[] bytes = new byte[packetBytes - 8];
        buffer.getBytes(at + 8, bytes);
        return Arrays.equals(expected, bytes) ? number : -1;
      }
    }
  }
}
