package dev.sumac.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.PacketKind;
import dev.sumac.reliability.FaultModel;
import dev.sumac.reliability.FaultSpec;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class FaultyListenerTest {
  private static final InetSocketAddress SOURCE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 9);
  private static final int PACKET_BYTES = AggregationHeader.packetBytes(4);
  private static final int OFFSET = 5;

  private final Recorder recorder = new Recorder();

  @Test
  void aLostPacketDoesNotArrive() {
    FaultyListener faulty = listener("loss=1");
    receive(faulty, 7, 0);
    assertFalse(faulty.onTurn(1_000_000_000));
    assertEquals(List.of(), recorder.chunks());
  }

  @Test
  void theRightShareOfPacketsIsLostAndTheRestIsIntact() {
    String spec = "loss=0.5,seed=3";
    FaultyListener faulty = listener(spec);
    FaultModel model = new FaultModel(FaultSpec.parse(spec));
    List<Long> expected = new ArrayList<>();
    for (int chunk = 0; chunk < 100; chunk++) {
      receive(faulty, chunk, chunk);
      model.next(PACKET_BYTES);
      if (model.copies() > 0) {
        expected.add((long) chunk);
      }
    }
    assertEquals(expected, recorder.chunks());
    assertTrue(expected.size() > 20 && expected.size() < 80);
    for (Arrival arrival : recorder.arrivals) {
      assertArrayEquals(packet(arrival.chunk()), arrival.bytes().byteArray());
    }
  }

  @Test
  void aDuplicateArrivesTwiceWithTheSameBytes() {
    FaultyListener faulty = listener("duplicate=1,delay-us=10");
    receive(faulty, 7, 1_000);
    assertEquals(List.of(7L), recorder.chunks());
    faulty.onTurn(1_000 + 10_000);
    assertEquals(List.of(7L, 7L), recorder.chunks());
    for (Arrival arrival : recorder.arrivals) {
      assertArrayEquals(packet(7), arrival.bytes().byteArray());
      assertSame(SOURCE, arrival.source());
    }
  }

  @Test
  void aDelayedPacketIsHeldUntilItIsDueAndNotLonger() {
    String spec = "reorder=1,delay-us=1000,seed=11";
    FaultModel model = new FaultModel(FaultSpec.parse(spec));
    model.next(PACKET_BYTES);
    long dueNs = 5_000 + model.delayNs(0);

    FaultyListener faulty = listener(spec);
    receive(faulty, 7, 5_000);
    assertTrue(faulty.onTurn(dueNs - 1));
    assertEquals(List.of(), recorder.chunks());
    assertFalse(faulty.onTurn(dueNs));
    assertEquals(List.of(7L), recorder.chunks());
    assertEquals(dueNs, recorder.arrivals.get(0).nowNs());
  }

  @Test
  void delayedPacketsArriveInTheOrderInWhichTheyAreDue() {
    String spec = "reorder=1,delay-us=1000,seed=12";
    FaultModel model = new FaultModel(FaultSpec.parse(spec));
    FaultyListener faulty = listener(spec);
    long[] dueNs = new long[50];
    List<Long> expected = new ArrayList<>();
    for (int chunk = 0; chunk < 50; chunk++) {
      receive(faulty, chunk, 0);
      model.next(PACKET_BYTES);
      dueNs[chunk] = model.delayNs(0);
      expected.add((long) chunk);
    }
    expected.sort(Comparator.comparingLong(chunk -> dueNs[chunk.intValue()]));
    assertFalse(isAscending(expected), "this seed must reorder");
    assertEquals(List.of(), recorder.chunks());
    assertFalse(faulty.onTurn(1_000_000));
    assertEquals(expected, recorder.chunks());
  }

  @Test
  void whatIsDueIsReleasedByTheNextArrivalToo() {
    String spec = "duplicate=1,delay-us=1";
    FaultyListener faulty = listener(spec);
    receive(faulty, 1, 0);
    receive(faulty, 2, 1_000_000);
    assertEquals(2, recorder.chunks().stream().filter(chunk -> chunk == 1).count());
  }

  @Test
  void aDamagedPacketHasExactlyOneFlippedBit() {
    FaultyListener faulty = listener("damage=1,seed=4");
    for (int chunk = 0; chunk < 100; chunk++) {
      receive(faulty, chunk, chunk);
      faulty.onTurn(chunk);
    }
    assertEquals(100, recorder.arrivals.size());
    for (int chunk = 0; chunk < 100; chunk++) {
      byte[] intact = packet(chunk);
      byte[] arrived = recorder.arrivals.get(chunk).bytes().byteArray();
      assertEquals(intact.length, arrived.length);
      int flipped = 0;
      for (int i = 0; i < intact.length; i++) {
        flipped += Integer.bitCount((intact[i] ^ arrived[i]) & 0xFF);
      }
      assertEquals(1, flipped, "chunk " + chunk);
    }
  }

  @Test
  void damageLeavesTheBytesOfTheReceiveBufferAlone() {
    byte[] bytes = packet(7);
    listener("damage=1").onDatagram(new UnsafeBuffer(bytes), 0, bytes.length, SOURCE, 0);
    assertArrayEquals(packet(7), bytes);
  }

  @Test
  void aHeldPacketOutlivesTheReceiveBuffer() {
    FaultyListener faulty = listener("reorder=1,delay-us=10");
    byte[] bytes = packet(7);
    faulty.onDatagram(new UnsafeBuffer(bytes), 0, bytes.length, SOURCE, 0);
    Arrays.fill(bytes, (byte) 0);
    faulty.onTurn(10_000);
    assertArrayEquals(packet(7), recorder.arrivals.get(0).bytes().byteArray());
  }

  @Test
  void timeMattersWhileItMattersToTheListenerBehind() {
    FaultyListener faulty = listener("loss=1");
    recorder.timeMatters = true;
    assertTrue(faulty.onTurn(1));
    recorder.timeMatters = false;
    assertFalse(faulty.onTurn(2));
    assertEquals(List.of(1L, 2L), recorder.turnsNs);
  }

  private FaultyListener listener(String spec) {
    return new FaultyListener(FaultSpec.parse(spec), recorder);
  }

  private static void receive(FaultyListener faulty, long chunk, long nowNs) {
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[OFFSET + PACKET_BYTES + 3]);
    buffer.putBytes(OFFSET, packet(chunk));
    faulty.onDatagram(buffer, OFFSET, PACKET_BYTES, SOURCE, nowNs);
  }

  private static byte[] packet(long chunk) {
    byte[] bytes = new byte[PACKET_BYTES];
    UnsafeBuffer buffer = new UnsafeBuffer(bytes);
    AggregationHeader header =
        new AggregationHeader()
            .start(buffer, 0, PacketKind.CONTRIBUTION, 0x0001_0000_0000_0000L)
            .elementCount(4)
            .chunk(chunk);
    buffer.setMemory(header.elementsOffset(), 16, (byte) chunk);
    header.finish(buffer);
    return bytes;
  }

  private static boolean isAscending(List<Long> chunks) {
    return chunks.equals(chunks.stream().sorted().toList());
  }

  /** What the listener behind the faults was given; a copy of its bytes. */
  private record Arrival(UnsafeBuffer bytes, long chunk, InetSocketAddress source, long nowNs) {}

  /** Keeps everything it is given. */
  private static final class Recorder implements DatagramListener {
    private final List<Arrival> arrivals = new ArrayList<>();
    private final List<Long> turnsNs = new ArrayList<>();
    private boolean timeMatters;

    @Override
    public void onDatagram(
        DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {
      UnsafeBuffer copy = new UnsafeBuffer(new byte[lengthBytes]);
      copy.putBytes(0, buffer, offset, lengthBytes);
      AggregationHeader header = new AggregationHeader();
      header.check(copy, 0, lengthBytes);
      arrivals.add(new Arrival(copy, header.chunk(), source, nowNs));
    }

    @Override
    public boolean onTurn(long nowNs) {
      turnsNs.add(nowNs);
      return timeMatters;
    }

    List<Long> chunks() {
      return arrivals.stream().map(Arrival::chunk).toList();
    }
  }
}
