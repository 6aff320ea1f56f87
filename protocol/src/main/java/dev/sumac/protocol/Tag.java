package dev.sumac.protocol;

/**
 * The UnisonFlow tag with the job in front of it: what the flow table matches. Immutable.
 *
 * <p>As one big-endian word, most significant bits first:
 *
 * <pre>
 *   job 16 | communicator 12 | collective 4 | source rank 16 | destination rank 16
 * </pre>
 *
 * @param job number that the switch gave the job at admission, 0 to 65,535
 * @param communicator number of the communicator within the job, 0 to 4,095
 * @param collective which collective the packet belongs to, one of the constants below
 * @param sourceRank rank that sent the packet, or {@link #SWITCH}
 * @param destinationRank rank that the packet is for, or {@link #SWITCH} or {@link #ALL_RANKS}
 */
public record Tag(int job, int communicator, int collective, int sourceRank, int destinationRank) {
  /** Collective of packets that carry no values: proving an address. */
  public static final int CONTROL = 0;

  /** Collective of an AllReduce. */
  public static final int ALL_REDUCE = 1;

  /** As a rank: every rank of the communicator. */
  public static final int ALL_RANKS = 0xFFFF;

  /** As a rank: the switch itself. */
  public static final int SWITCH = 0xFFFE;

  public Tag {
    requireBits("job", job, 16);
    requireBits("communicator", communicator, 12);
    requireBits("collective", collective, 4);
    requireBits("source rank", sourceRank, 16);
    requireBits("destination rank", destinationRank, 16);
  }

  /** The tag as the 64-bit word that {@link AggregationHeader#tag(long)} writes. */
  public long toWord() {
    return word(job, communicator, collective, sourceRank, destinationRank);
  }

  /** As {@link #toWord()} without an object, for the packet path; values are taken as they are. */
  public static long word(
      int job, int communicator, int collective, int sourceRank, int destinationRank) {
    return (long) job << 48
        | (long) communicator << 36
        | (long) collective << 32
        | (long) sourceRank << 16
        | destinationRank;
  }

  /** The tag that a word holds. */
  public static Tag of(long word) {
    return new Tag(
        job(word),
        (int) (word >>> 36) & 0xFFF,
        (int) (word >>> 32) & 0xF,
        sourceRank(word),
        destinationRank(word));
  }

  public static int job(long word) {
    return (int) (word >>> 48);
  }

  public static int sourceRank(long word) {
    return (int) (word >>> 16) & 0xFFFF;
  }

  public static int destinationRank(long word) {
    return (int) word & 0xFFFF;
  }

  /** What a flow entry matches exactly: job, communicator and collective. */
  public static int flow(long word) {
    return (int) (word >>> 32);
  }

  private static void requireBits(String what, int value, int bits) {
    if (value >>> bits != 0) {
      throw new IllegalArgumentException(
          what + " " + value + " does not fit " + bits + " bits (0 to " + ((1 << bits) - 1) + ")");
    }
  }
}
