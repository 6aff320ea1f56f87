package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.ElementType;
import dev.sumac.protocol.OperationKind;
import dev.sumac.reliability.ContributionBitmap;
import java.util.Arrays;

/**
 * Who has contributed to which chunk: the state of one run's slots on one shard, without their
 * values. Exactly-once is decided here. Not thread-safe; all memory is taken at construction.
 *
 * <p>Chunk {@code c} belongs to slot {@code c mod slots}, version {@code (c / slots) mod 2} of it:
 * {@link #entryOf}. Each entry knows the full number of the chunk that it holds, so a late
 * duplicate can never be taken for a new contribution (SwitchML's one version bit leaves that to
 * the network).
 *
 * <p>Invariants, for either policy:
 *
 * <ol>
 *   <li>An entry moves from chunk {@code c} to {@code c + 2 slots} and to no other.
 *   <li>A rank's bit is set at most once while an entry holds a chunk, so its values are added
 *       once.
 *   <li>A worker sends {@code c + 2 slots} only when it holds the result of {@code c + slots}, to
 *       which every rank has contributed, which each did only when it held the result of {@code c}.
 *       So when {@code c} is overwritten, every rank has it.
 * </ol>
 *
 * <p>{@link ReleasePolicy#TWO_VERSION} is SwitchML's pool, with invariant 3 checked at its door: a
 * chunk is let in only when the slot's other version is complete.
 *
 * <p>{@link ReleasePolicy#ACKNOWLEDGED} holds an entry until every rank has acknowledged its
 * result. If a new chunk finds its entry still held, acknowledgements were lost; the array does not
 * grow: <em>everything</em> is cleared and counted, and the workers' retransmissions fill it again.
 * A cleared entry keeps its chunk's number, not its contributions.
 */
final class SlotPool {
  private static final long NONE = -1;

  private final int slots;
  private final int mask;
  private final int slotBits;
  private final long firstChunk;
  private final ReleasePolicy policy;
  private final long[] chunks;
  private final ContributionBitmap contributed;
  private final ContributionBitmap acknowledged;

  private final int[] operation;
  private final int[] operationElements;
  private final int[] elementCount;
  private final byte[] type;
  private final byte[] kind;
  private final boolean[] exponents;
  private final short[] exponent;
  private final byte[] nonFinite;

  private long clears;

  /**
   * @param slots a power of two
   * @param ranks contributions that complete a chunk
   * @param firstChunk number of the run's first chunk
   */
  SlotPool(int slots, int ranks, long firstChunk, ReleasePolicy policy) {
    if (Integer.bitCount(slots) != 1) {
      throw new IllegalArgumentException("slots " + slots + " must be a power of two");
    }
    this.slots = slots;
    this.mask = slots - 1;
    this.slotBits = Integer.numberOfTrailingZeros(slots);
    this.firstChunk = firstChunk;
    this.policy = policy;
    int entries = slots * SlotMemory.VERSIONS;
    this.chunks = new long[entries];
    Arrays.fill(chunks, NONE);
    this.contributed = new ContributionBitmap(entries, ranks);
    this.acknowledged = new ContributionBitmap(entries, ranks);
    this.operation = new int[entries];
    this.operationElements = new int[entries];
    this.elementCount = new int[entries];
    this.type = new byte[entries];
    this.kind = new byte[entries];
    this.exponents = new boolean[entries];
    this.exponent = new short[entries];
    this.nonFinite = new byte[entries];
  }

  /** Which entry a chunk belongs to: {@code 2 slot + version}. */
  int entryOf(long chunk) {
    int slot = (int) chunk & mask;
    int version = (int) (chunk >>> slotBits) & 1;
    return slot * SlotMemory.VERSIONS + version;
  }

  /**
   * Counts one contribution. On {@link Verdict#OPENED} and {@link Verdict#ADDED} its values belong
   * in the sum.
   */
  Verdict contribute(int rank, AggregationHeader packet) {
    long chunk = packet.chunk();
    int entry = entryOf(chunk);
    if (chunk == chunks[entry] && contributed.count(entry) > 0) {
      if (!agrees(entry, packet)) {
        return Verdict.MISMATCH;
      }
      if (!contributed.set(entry, rank)) {
        return contributed.isFull(entry) ? Verdict.ALREADY_COMPLETE : Verdict.DUPLICATE;
      }
      keepMaximum(entry, packet);
      return Verdict.ADDED;
    }
    Verdict refusal = mayOpen(entry, chunk);
    if (refusal != null) {
      return refusal;
    }
    open(entry, packet);
    contributed.set(entry, rank);
    return Verdict.OPENED;
  }

  /** A rank holds the result of this chunk. False when that is no news. */
  boolean acknowledge(int rank, long chunk) {
    int entry = entryOf(chunk);
    return chunks[entry] == chunk && contributed.isFull(entry) && acknowledged.set(entry, rank);
  }

  /** Whether every rank has contributed to the chunk that the entry holds. */
  boolean isComplete(int entry) {
    return contributed.isFull(entry);
  }

  boolean hasContributed(int entry, int rank) {
    return contributed.isSet(entry, rank);
  }

  /** Whether the entry holds that chunk. */
  boolean holds(int entry, long chunk) {
    return chunks[entry] == chunk;
  }

  /** Elements of the chunk that the entry holds. */
  int elementCount(int entry) {
    return elementCount[entry];
  }

  /** A rank that has contributed to the chunk that the entry holds. */
  int someContributor(int entry) {
    return contributed.lowestSet(entry);
  }

  /** Times that everything was cleared for want of acknowledgements. */
  long clears() {
    return clears;
  }

  /** Writes the fields that a result shares with its contributions. */
  void describe(int entry, AggregationHeader result) {
    result
        .chunk(chunks[entry])
        .flags(exponents[entry] ? AggregationHeader.EXPONENTS : 0)
        .operation(operation[entry])
        .operationElements(operationElements[entry])
        .elementCount(elementCount[entry])
        .exponent(exponent[entry])
        .nonFinite(nonFinite[entry]);
    result.elementType(ElementType.ofCode(type[entry]));
    result.operationKind(OperationKind.ofCode(kind[entry]));
  }

  private Verdict mayOpen(int entry, long chunk) {
    long held = chunks[entry];
    if (chunk < firstChunk || chunk < held) {
      return Verdict.STALE;
    }
    if (chunk == held) {
      return null; // Cleared; this is its second life.
    }
    long expected = held == NONE ? firstChunkOf(entry) : held + 2L * slots;
    if (chunk != expected) {
      return Verdict.FROM_THE_FUTURE;
    }
    switch (policy) {
      case TWO_VERSION -> {
        long before = chunk - slots;
        if (before >= firstChunk) {
          int other = entryOf(before);
          if (chunks[other] != before || !contributed.isFull(other)) {
            return Verdict.FROM_THE_FUTURE;
          }
        }
      }
      case ACKNOWLEDGED -> {
        if (contributed.count(entry) > 0 && !acknowledged.isFull(entry)) {
          clearAll();
        }
      }
    }
    return null;
  }

  private long firstChunkOf(int entry) {
    // The first two generations of the run fill every entry once.
    long chunk = firstChunk - firstChunk % slots + entry / SlotMemory.VERSIONS;
    while (chunk < firstChunk || entryOf(chunk) != entry) {
      chunk += slots;
    }
    return chunk;
  }

  private void open(int entry, AggregationHeader packet) {
    chunks[entry] = packet.chunk();
    contributed.clear(entry);
    acknowledged.clear(entry);
    operation[entry] = packet.operation();
    operationElements[entry] = packet.operationElements();
    elementCount[entry] = packet.elementCount();
    type[entry] = packet.elementType().code();
    kind[entry] = packet.operationKind().code();
    exponents[entry] = packet.carriesExponents();
    exponent[entry] = (short) packet.exponent();
    nonFinite[entry] = (byte) packet.nonFinite();
  }

  private void keepMaximum(int entry, AggregationHeader packet) {
    exponent[entry] = (short) Math.max(exponent[entry], packet.exponent());
    nonFinite[entry] = (byte) Math.max(nonFinite[entry], packet.nonFinite());
  }

  private boolean agrees(int entry, AggregationHeader packet) {
    return operation[entry] == packet.operation()
        && operationElements[entry] == packet.operationElements()
        && elementCount[entry] == packet.elementCount()
        && type[entry] == packet.elementType().code()
        && kind[entry] == packet.operationKind().code()
        && exponents[entry] == packet.carriesExponents();
  }

  private void clearAll() {
    clears++;
    for (int entry = 0; entry < chunks.length; entry++) {
      contributed.clear(entry);
      acknowledged.clear(entry);
    }
  }
}
