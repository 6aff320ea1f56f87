package dev.sumac.worker;

/**
 * The part of an operation that one lane carries, as consecutive packet numbers of that lane:
 *
 * <pre>
 *   packet     first .............. first + ahead ................ end
 *   carries    exponent only        data of part 0, 1, 2, ...
 *   exponent   of part 0, 1, ...    of part ahead, ahead + 1, ...
 * </pre>
 *
 * <p>Part {@code p} of the lane is chunk {@code p x lanes + lane} of the operation. Its exponent
 * travels in packet {@code first + p}, its data in packet {@code first + ahead + p}: at most one
 * window later, in the same slot. With {@code ahead = 0} (no exponents needed) every packet is
 * data.
 */
final class LaneOperation {
  private final Operation operation;
  private final int lane;
  private final int lanes;
  private final long first;
  private final int parts;
  private final int ahead;
  private int packetsLeft;

  LaneOperation(Operation operation, int lane, int lanes, long first, int window) {
    this.operation = operation;
    this.lane = lane;
    this.lanes = lanes;
    this.first = first;
    this.parts = (operation.chunks() - lane + lanes - 1) / lanes;
    this.ahead = operation.needsExponents() ? Math.min(window, parts) : 0;
    this.packetsLeft = ahead + parts;
  }

  Operation operation() {
    return operation;
  }

  /** Number of the packet behind the last. */
  long end() {
    return first + ahead + parts;
  }

  boolean holds(long packet) {
    return packet >= first && packet < end();
  }

  /** The chunk whose data this packet carries, or -1 if it carries none. */
  int dataChunk(long packet) {
    long part = packet - first - ahead;
    return part < 0 ? -1 : chunk(part);
  }

  /** The chunk whose exponent this packet carries, or -1 if it carries none. */
  int exponentChunk(long packet) {
    long part = packet - first;
    return ahead == 0 || part >= parts ? -1 : chunk(part);
  }

  /** The packet that carries the data of the chunk whose exponent is in this one. */
  long dataPacketOf(long exponentPacket) {
    return exponentPacket + ahead;
  }

  /** A packet's result was taken. True when that was the last one of this lane. */
  boolean packetDone() {
    return --packetsLeft == 0;
  }

  boolean isDone() {
    return packetsLeft == 0;
  }

  private int chunk(long part) {
    return (int) (part * lanes + lane);
  }
}
