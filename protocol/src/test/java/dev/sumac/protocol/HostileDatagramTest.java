package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class HostileDatagramTest {
  private static final long SEED = Long.getLong("sumac.seed", 20_260_302);
  private static final int MUTATIONS = 1_000_000;
  private static final int LONGEST = 512;

  private final AggregationHeader header = new AggregationHeader();

  @Property
  void anyBytesAreCheckedWithoutAnException(@ForAll @Size(max = 200) byte[] bytes) {
    assertNotNull(header.check(new UnsafeBuffer(bytes), 0, bytes.length));
  }

  @Property
  void anyBytesBehindAValidBeginningAreCheckedWithoutAnException(
      @ForAll @Size(min = 52, max = 200) byte[] bytes, @ForAll @IntRange(max = 20) int intact) {
    byte[] valid = packet(PacketKind.CONTRIBUTION, 4, 1);
    System.arraycopy(valid, 0, bytes, 0, intact);
    assertNotSame(Malformed.NONE, header.check(new UnsafeBuffer(bytes), 0, bytes.length));
  }

  @Property
  void anyFlippedBitIsRefused(
      @ForAll PacketKind kind, @ForAll @IntRange(max = 40) int elements, @ForAll int seed) {
    byte[] packet = packet(kind, kind.carriesElements() ? elements : 0, seed);
    UnsafeBuffer buffer = new UnsafeBuffer(packet);
    assertSame(Malformed.NONE, header.check(buffer, 0, packet.length));
    for (int bit = 0; bit < packet.length * 8; bit++) {
      packet[bit / 8] ^= (byte) (1 << bit % 8);
      assertNotSame(Malformed.NONE, header.check(buffer, 0, packet.length), "bit " + bit);
      packet[bit / 8] ^= (byte) (1 << bit % 8);
    }
  }

  @Property
  void everyFieldComesBackAsItWasWritten(
      @ForAll long tag,
      @ForAll ElementType type,
      @ForAll OperationKind operationKind,
      @ForAll byte nonFinite,
      @ForAll short exponent,
      @ForAll @IntRange(max = AggregationHeader.MAX_ELEMENTS) int elements,
      @ForAll int run,
      @ForAll long cookie,
      @ForAll long anyChunk,
      @ForAll int operation,
      @ForAll int operationElements) {
    long chunk = anyChunk & Long.MAX_VALUE;
    int bytes = AggregationHeader.packetBytes(elements);
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[bytes]);
    AggregationHeader written =
        new AggregationHeader()
            .start(buffer, 0, PacketKind.RESULT, tag)
            .elementType(type)
            .operationKind(operationKind)
            .nonFinite(nonFinite)
            .exponent(exponent)
            .elementCount(elements)
            .run(run)
            .cookie(cookie)
            .chunk(chunk)
            .operation(operation)
            .operationElements(operationElements);
    assertEquals(bytes, written.finish(buffer));

    assertSame(Malformed.NONE, header.check(buffer, 0, bytes));
    assertEquals(bytes, header.packetBytes());
    assertEquals(tag, header.tag());
    assertSame(PacketKind.RESULT, header.kind());
    assertEquals(0, header.flags());
    assertSame(type, header.elementType());
    assertSame(operationKind, header.operationKind());
    assertEquals(nonFinite, header.nonFinite());
    assertEquals(exponent, header.exponent());
    assertEquals(elements, header.elementCount());
    assertEquals(run, header.run());
    assertEquals(cookie, header.cookie());
    assertEquals(chunk, header.chunk());
    assertEquals(operation, header.operation());
    assertEquals(operationElements, header.operationElements());
  }

  @Test
  void ofAMillionMutatedDatagramsOnlyThoseThatBeginWithAValidPacketAreAccepted() {
    SplittableRandom random = new SplittableRandom(SEED);
    byte[][] valid = new byte[16][];
    for (int i = 0; i < valid.length; i++) {
      PacketKind kind = PacketKind.values()[i % PacketKind.values().length];
      valid[i] = packet(kind, kind.carriesElements() ? random.nextInt(60) : 0, i);
    }
    byte[] datagram = new byte[LONGEST];
    UnsafeBuffer buffer = new UnsafeBuffer(datagram);
    int accepted = 0;
    for (int i = 0; i < MUTATIONS; i++) {
      int length = mutate(random, valid, datagram);
      // Anything past the datagram would be past the view: reading there throws.
      buffer.wrap(datagram, 0, length);
      if (header.check(buffer, 0, length) == Malformed.NONE) {
        accepted++;
        assertTrue(
            beginsWithOneOf(valid, datagram, header.packetBytes()),
            "mutation " + i + " of seed " + SEED + " was accepted");
      }
    }
    // Extensions, and splices behind a whole packet, leave a valid beginning.
    assertTrue(
        accepted > MUTATIONS / 100 && accepted < MUTATIONS / 2,
        accepted + " accepted, seed " + SEED);
  }

  private static int mutate(SplittableRandom random, byte[][] valid, byte[] datagram) {
    byte[] from = valid[random.nextInt(valid.length)];
    System.arraycopy(from, 0, datagram, 0, from.length);
    switch (random.nextInt(4)) {
      case 0 -> {
        for (int flips = 1 + random.nextInt(8); flips > 0; flips--) {
          datagram[random.nextInt(from.length)] ^= (byte) (1 << random.nextInt(8));
        }
        return from.length;
      }
      case 1 -> {
        return random.nextInt(from.length);
      }
      case 2 -> {
        int more = 1 + random.nextInt(60);
        for (int i = 0; i < more; i++) {
          datagram[from.length + i] = (byte) random.nextInt();
        }
        return from.length + more;
      }
      default -> {
        byte[] other = valid[random.nextInt(valid.length)];
        int cut = random.nextInt(from.length);
        int start = random.nextInt(other.length);
        System.arraycopy(other, start, datagram, cut, other.length - start);
        return cut + other.length - start;
      }
    }
  }

  private static boolean beginsWithOneOf(byte[][] valid, byte[] datagram, int packetBytes) {
    for (byte[] packet : valid) {
      if (packet.length == packetBytes
          && Arrays.equals(packet, 0, packetBytes, datagram, 0, packetBytes)) {
        return true;
      }
    }
    return false;
  }

  private static byte[] packet(PacketKind kind, int elements, int seed) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] packet = new byte[AggregationHeader.packetBytes(elements)];
    UnsafeBuffer buffer = new UnsafeBuffer(packet);
    AggregationHeader header =
        new AggregationHeader()
            .start(buffer, 0, kind, random.nextLong())
            .elementCount(elements)
            .run(random.nextInt())
            .cookie(random.nextLong())
            .chunk(random.nextLong(Long.MAX_VALUE))
            .operation(random.nextInt())
            .operationElements(random.nextInt());
    for (int i = 0; i < elements; i++) {
      buffer.putInt(header.elementsOffset() + i * Integer.BYTES, random.nextInt());
    }
    header.finish(buffer);
    return packet;
  }
}
