package dev.sumac.worker;

/**
 * The part of an operation that one lane carries, as consecutive packet numbers of that lane:
 *
 * <pre>
 *   packet     first ........... first + k ................................. end
 *   elements   exponents of      data of part 0, 1, 2, ...
 *              parts 0 .. a-1
 *   header                       exponent of part a, a + 1, ...
 * </pre>
 *
 * <p>Part {@code p} of the lane is chunk {@code p x lanes + lane} of the operation. The exponents
 * of the first window of parts, {@code a = min(window, parts)}, travel together in {@code k}
 * packets; each later one in the header of the data packet {@code a} before its own. With {@code a
 * = 0} (no exponents needed) every packet is data.
 */
final class LaneOperation {
  /**
   * Elements that tell of one chunk in an exponent packet: its exponent, and whether it has a NaN
   * or an infinity.
   */
  static final int ELEMENTS_PER_EXPONENT = 2;

  private final Operation operation;
  private final int lane;
  private final int lanes;
  private final long first;
  private final int parts;
  private final int ahead;
  private final int exponentsPerPacket;
  private final int exponentPackets;
  private int packetsLeft;

  LaneOperation(Operation operation, int lane, int lanes, long first, int window) {
    this.operation = operation;
    this.lane = lane;
    this.lanes = lanes;
    this.first = first;
    this.parts = (operation.chunks() - lane + lanes - 1) / lanes;
    this.ahead = operation.needsExponents() ? Math.min(window, parts) : 0;
    this.exponentsPerPacket = operation.elementsPerChunk() / ELEMENTS_PER_EXPONENT;
    this.exponentPackets = (ahead + exponentsPerPacket - 1) / Math.max(1, exponentsPerPacket);
    this.packetsLeft = exponentPackets + parts;
  }

  Operation operation() {
    return operation;
  }

  /** Number of the packet behind the last. */
  long end() {
    return first + exponentPackets + parts;
  }

  boolean holds(long packet) {
    return packet >= first && packet < end();
  }

  /** Whether the packet's elements are exponents. */
  boolean isExponentPacket(long packet) {
    return packet - first < exponentPackets;
  }

  /** The first part whose exponent is in this exponent packet. */
  int firstPart(long exponentPacket) {
    return (int) (exponentPacket - first) * exponentsPerPacket;
  }

  /** How many parts' exponents are in this exponent packet. */
  int partCount(long exponentPacket) {
    return Math.min(exponentsPerPacket, ahead - firstPart(exponentPacket));
  }

  /** The chunk of the operation that a part is. */
  int chunkOf(int part) {
    return part * lanes + lane;
  }

  /** The packet that carries a part's data. */
  long dataPacketOf(int part) {
    return first + exponentPackets + part;
  }

  /** The part whose data this data packet carries. */
  int partOf(long dataPacket) {
    return (int) (dataPacket - first - exponentPackets);
  }

  /** The part whose exponent is in the header of this data packet, or -1 if there is none. */
  int exponentPartOf(long dataPacket) {
    int part = partOf(dataPacket) + ahead;
    return ahead > 0 && part < parts ? part : -1;
  }

  /** A packet's result was taken. True when that was the last one of this lane. */
  boolean packetDone() {
    return --packetsLeft == 0;
  }

  boolean isDone() {
    return packetsLeft == 0;
  }
}
