package dev.sumac.protocol;

import static java.nio.ByteOrder.BIG_ENDIAN;
import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One packet of the native framing, read and written in place. Little endian but for the tag; drawn
 * in docs/protocol.md, section 3. Not thread-safe; allocates nothing after construction.
 *
 * <pre>
 *    0 +---------------------------------------------------------------+
 *      | tag: job 16, communicator 12, collective 4, source, dest. rank |  big endian
 *    8 +---------------+-------+-------+-------+-------+-------+-------+
 *      | magic "SM"    |version| kind  | flags | type  | op.   |nonfin.|
 *   16 +---------------+-------+-------+-------+-------+-------+-------+
 *      | exponent      | element count | run                           |
 *   24 +---------------+---------------+-------------------------------+
 *      | cookie                                                        |
 *   32 +---------------------------------------------------------------+
 *      | chunk                                                         |
 *   40 +-------------------------------+-------------------------------+
 *      | operation                     | operation's elements          |
 *   48 +-------------------------------+-------------------------------+
 *      | element count x 32 bits                                      ...
 *      +-------------------------------+-------------------------------+
 *      | only with flag AUTHENTICATED: SipHash-2-4 of all bytes before |
 *      +-------------------------------+-------------------------------+
 *      | CRC32C of all bytes before it |
 *      +-------------------------------+
 * </pre>
 */
public final class AggregationHeader {
  static final int TAG_OFFSET = 0;
  static final int MAGIC_OFFSET = TAG_OFFSET + SIZE_OF_LONG;
  static final int VERSION_OFFSET = MAGIC_OFFSET + SIZE_OF_SHORT;
  static final int KIND_OFFSET = VERSION_OFFSET + SIZE_OF_BYTE;
  static final int FLAGS_OFFSET = KIND_OFFSET + SIZE_OF_BYTE;
  static final int ELEMENT_TYPE_OFFSET = FLAGS_OFFSET + SIZE_OF_BYTE;
  static final int OPERATION_KIND_OFFSET = ELEMENT_TYPE_OFFSET + SIZE_OF_BYTE;
  static final int NON_FINITE_OFFSET = OPERATION_KIND_OFFSET + SIZE_OF_BYTE;
  static final int EXPONENT_OFFSET = NON_FINITE_OFFSET + SIZE_OF_BYTE;
  static final int ELEMENT_COUNT_OFFSET = EXPONENT_OFFSET + SIZE_OF_SHORT;
  static final int RUN_OFFSET = ELEMENT_COUNT_OFFSET + SIZE_OF_SHORT;
  static final int COOKIE_OFFSET = RUN_OFFSET + SIZE_OF_INT;
  static final int CHUNK_OFFSET = COOKIE_OFFSET + SIZE_OF_LONG;
  static final int OPERATION_OFFSET = CHUNK_OFFSET + SIZE_OF_LONG;
  static final int OPERATION_ELEMENTS_OFFSET = OPERATION_OFFSET + SIZE_OF_INT;

  /** Bytes of the tag and the header. */
  public static final int HEADER_BYTES = OPERATION_ELEMENTS_OFFSET + SIZE_OF_INT;

  /** Bytes of the check value behind the elements. */
  public static final int CHECK_VALUE_BYTES = SIZE_OF_INT;

  /** Bytes that a packet has besides its elements. */
  public static final int OVERHEAD_BYTES = HEADER_BYTES + CHECK_VALUE_BYTES;

  /** Most bytes that UDP over IPv4 carries: 65,535 less 20 of IP and 8 of UDP. */
  public static final int MAX_DATAGRAM_BYTES = 65_507;

  /** Most elements that fit one packet. */
  public static final int MAX_ELEMENTS = (MAX_DATAGRAM_BYTES - OVERHEAD_BYTES) / SIZE_OF_INT;

  /** "SM" in the order of the wire. */
  public static final short MAGIC = 0x4D53;

  /** Version of this framing. */
  public static final byte VERSION = 1;

  /** Flag: the packet repeats one that was sent before. */
  public static final int RETRANSMISSION = 1;

  /**
   * Flag: the elements are exponents of chunks to come; they are reduced with MAX, whatever the
   * operation.
   */
  public static final int EXPONENTS = 2;

  /** Flag: an authentication tag stands between the elements and the check value. */
  public static final int AUTHENTICATED = 4;

  /** Bytes of the authentication tag. */
  public static final int AUTHENTICATION_BYTES = SipHash.BYTES;

  /** Most elements that fit one packet with an authentication tag. */
  public static final int MAX_AUTHENTICATED_ELEMENTS =
      MAX_ELEMENTS - AUTHENTICATION_BYTES / SIZE_OF_INT;

  private static final int KNOWN_FLAGS = RETRANSMISSION | EXPONENTS | AUTHENTICATED;

  private final CheckValue checkValue = new CheckValue();
  private final UnsafeBuffer buffer = new UnsafeBuffer(0, 0);
  private final SipHash key;
  private int at;

  /** Reads packets, and writes packets without an authentication tag. */
  public AggregationHeader() {
    this(null);
  }

  /**
   * Writes packets with an authentication tag by this key, or without one.
   *
   * @param key the run's key, or null
   */
  public AggregationHeader(SipHash key) {
    this.key = key;
  }

  /** Bytes of a packet with {@code elements} elements and no authentication tag. */
  public static int packetBytes(int elements) {
    return OVERHEAD_BYTES + elements * SIZE_OF_INT;
  }

  /** Bytes of a packet with {@code elements} elements. */
  public static int packetBytes(int elements, boolean authenticated) {
    return packetBytes(elements) + (authenticated ? AUTHENTICATION_BYTES : 0);
  }

  /** Bytes of a packet with {@code elements} elements as this header writes it. */
  public int bytesOf(int elements) {
    return packetBytes(elements, key != null);
  }

  /**
   * Length of the first packet of a datagram that may hold several, without checking it: the whole
   * {@code length} when the bytes do not look like a packet.
   */
  public static int firstPacketBytes(DirectBuffer datagram, int offset, int length) {
    if (length < OVERHEAD_BYTES
        || datagram.getShort(offset + MAGIC_OFFSET, LITTLE_ENDIAN) != MAGIC) {
      return length;
    }
    int elements = datagram.getShort(offset + ELEMENT_COUNT_OFFSET, LITTLE_ENDIAN) & 0xFFFF;
    boolean authenticated = (datagram.getByte(offset + FLAGS_OFFSET) & AUTHENTICATED) != 0;
    return Math.min(length, packetBytes(elements, authenticated));
  }

  /**
   * Moves this header over the bytes from {@code offset} and says why they can't be used, or {@link
   * Malformed#NONE}. Reads nothing past {@code length}; a longer datagram than the packet needs is
   * well formed here, what follows is the next packet's business.
   */
  public Malformed check(DirectBuffer datagram, int offset, int length) {
    if (length < OVERHEAD_BYTES) {
      return Malformed.TOO_SHORT;
    }
    buffer.wrap(datagram);
    at = offset;
    if (buffer.getShort(at + MAGIC_OFFSET, LITTLE_ENDIAN) != MAGIC) {
      return Malformed.BAD_MAGIC;
    }
    if (buffer.getByte(at + VERSION_OFFSET) != VERSION) {
      return Malformed.UNKNOWN_VERSION;
    }
    PacketKind kind = kind();
    if (kind == null) {
      return Malformed.UNKNOWN_KIND;
    }
    if ((flags() & ~KNOWN_FLAGS) != 0) {
      return Malformed.UNKNOWN_FLAG;
    }
    if (elementType() == null) {
      return Malformed.UNKNOWN_TYPE;
    }
    if (operationKind() == null) {
      return Malformed.UNKNOWN_OPERATION;
    }
    if (chunk() < 0 && kind.carriesElements()) {
      return Malformed.NEGATIVE_CHUNK;
    }
    int elements = elementCount();
    if (elements != 0 && !kind.carriesElements()) {
      return Malformed.UNEXPECTED_ELEMENTS;
    }
    int packetBytes = packetBytes();
    if (packetBytes > length) {
      return Malformed.TRUNCATED;
    }
    int covered = packetBytes - CHECK_VALUE_BYTES;
    if (checkValue.of(datagram, offset, covered)
        != datagram.getInt(offset + covered, LITTLE_ENDIAN)) {
      return Malformed.WRONG_CHECK_VALUE;
    }
    return Malformed.NONE;
  }

  /**
   * Moves this header over empty bytes and writes magic, version, kind and tag; all other fields
   * become 0 but for the type and operation, which are INT32 and SUM.
   */
  public AggregationHeader start(
      MutableDirectBuffer packet, int offset, PacketKind kind, long tag) {
    buffer.wrap(packet);
    at = offset;
    buffer.setMemory(offset, HEADER_BYTES, (byte) 0);
    buffer.putLong(at + TAG_OFFSET, tag, BIG_ENDIAN);
    buffer.putShort(at + MAGIC_OFFSET, MAGIC, LITTLE_ENDIAN);
    buffer.putByte(at + VERSION_OFFSET, VERSION);
    buffer.putByte(at + KIND_OFFSET, kind.code());
    flags(0);
    elementType(ElementType.INT32);
    operationKind(OperationKind.SUM);
    return this;
  }

  /**
   * Writes the authentication tag, if there is a key, and the check value; the elements must be in
   * place. Returns the bytes of the whole packet.
   */
  public int finish(MutableDirectBuffer packet) {
    int packetBytes = packetBytes();
    int covered = packetBytes - CHECK_VALUE_BYTES;
    if (key != null) {
      int hashed = covered - AUTHENTICATION_BYTES;
      buffer.putLong(at + hashed, key.of(buffer, at, hashed), LITTLE_ENDIAN);
    }
    packet.putInt(at + covered, checkValue.of(packet, at, covered), LITTLE_ENDIAN);
    return packetBytes;
  }

  /**
   * Whether the packet's authentication tag is right for the run's key; without a key, whether it
   * has none. Only for packets that {@link #check} found well formed.
   *
   * @param runKey the run's key, or null
   */
  public boolean isAuthentic(SipHash runKey) {
    if (runKey == null) {
      return !isAuthenticated();
    }
    int hashed = packetBytes() - CHECK_VALUE_BYTES - AUTHENTICATION_BYTES;
    return isAuthenticated()
        && runKey.of(buffer, at, hashed) == buffer.getLong(at + hashed, LITTLE_ENDIAN);
  }

  /** Bytes of this packet, by its element count and flags. */
  public int packetBytes() {
    return packetBytes(elementCount(), isAuthenticated());
  }

  /** Where this packet's elements begin in the buffer it was moved over. */
  public int elementsOffset() {
    return at + HEADER_BYTES;
  }

  /** The tag as a word; see {@link Tag}. */
  public long tag() {
    return buffer.getLong(at + TAG_OFFSET, BIG_ENDIAN);
  }

  public PacketKind kind() {
    return PacketKind.ofCode(buffer.getByte(at + KIND_OFFSET));
  }

  public int flags() {
    return buffer.getByte(at + FLAGS_OFFSET) & 0xFF;
  }

  /** Sets the flags but for AUTHENTICATED, which this header sets itself when it has a key. */
  public AggregationHeader flags(int flags) {
    buffer.putByte(at + FLAGS_OFFSET, (byte) (key == null ? flags : flags | AUTHENTICATED));
    return this;
  }

  public boolean isAuthenticated() {
    return (flags() & AUTHENTICATED) != 0;
  }

  public boolean isRetransmission() {
    return (flags() & RETRANSMISSION) != 0;
  }

  public ElementType elementType() {
    return ElementType.ofCode(buffer.getByte(at + ELEMENT_TYPE_OFFSET));
  }

  public AggregationHeader elementType(ElementType type) {
    buffer.putByte(at + ELEMENT_TYPE_OFFSET, type.code());
    return this;
  }

  public boolean carriesExponents() {
    return (flags() & EXPONENTS) != 0;
  }

  public OperationKind operationKind() {
    return OperationKind.ofCode(buffer.getByte(at + OPERATION_KIND_OFFSET));
  }

  public AggregationHeader operationKind(OperationKind kind) {
    buffer.putByte(at + OPERATION_KIND_OFFSET, kind.code());
    return this;
  }

  /**
   * Not 0 when the chunk that {@link #exponent()} speaks of has a NaN or an infinity; the switch
   * keeps the maximum.
   */
  public int nonFinite() {
    return buffer.getByte(at + NON_FINITE_OFFSET);
  }

  public AggregationHeader nonFinite(int nonFinite) {
    buffer.putByte(at + NON_FINITE_OFFSET, (byte) nonFinite);
    return this;
  }

  /**
   * Exponent of a chunk still to come (fixed point; docs/protocol.md, section 5); the switch keeps
   * the maximum.
   */
  public int exponent() {
    return buffer.getShort(at + EXPONENT_OFFSET, LITTLE_ENDIAN);
  }

  public AggregationHeader exponent(int exponent) {
    buffer.putShort(at + EXPONENT_OFFSET, (short) exponent, LITTLE_ENDIAN);
    return this;
  }

  public int elementCount() {
    return buffer.getShort(at + ELEMENT_COUNT_OFFSET, LITTLE_ENDIAN) & 0xFFFF;
  }

  public AggregationHeader elementCount(int count) {
    buffer.putShort(at + ELEMENT_COUNT_OFFSET, (short) count, LITTLE_ENDIAN);
    return this;
  }

  /** Number of the job's run, as the switch gave it at admission. */
  public int run() {
    return buffer.getInt(at + RUN_OFFSET, LITTLE_ENDIAN);
  }

  public AggregationHeader run(int run) {
    buffer.putInt(at + RUN_OFFSET, run, LITTLE_ENDIAN);
    return this;
  }

  /** The run's secret, as the switch gave it at admission. */
  public long cookie() {
    return buffer.getLong(at + COOKIE_OFFSET, LITTLE_ENDIAN);
  }

  public AggregationHeader cookie(long cookie) {
    buffer.putLong(at + COOKIE_OFFSET, cookie, LITTLE_ENDIAN);
    return this;
  }

  /** Full number of the chunk on its shard within the run; or the number of a challenge. */
  public long chunk() {
    return buffer.getLong(at + CHUNK_OFFSET, LITTLE_ENDIAN);
  }

  public AggregationHeader chunk(long chunk) {
    buffer.putLong(at + CHUNK_OFFSET, chunk, LITTLE_ENDIAN);
    return this;
  }

  /** Number of the operation within the run, from 0. */
  public int operation() {
    return buffer.getInt(at + OPERATION_OFFSET, LITTLE_ENDIAN);
  }

  public AggregationHeader operation(int operation) {
    buffer.putInt(at + OPERATION_OFFSET, operation, LITTLE_ENDIAN);
    return this;
  }

  /** Elements of the whole operation, so that ranks that disagree are found at the first chunk. */
  public int operationElements() {
    return buffer.getInt(at + OPERATION_ELEMENTS_OFFSET, LITTLE_ENDIAN);
  }

  public AggregationHeader operationElements(int elements) {
    buffer.putInt(at + OPERATION_ELEMENTS_OFFSET, elements, LITTLE_ENDIAN);
    return this;
  }
}
