package dev.sumac.reliability;

import java.util.Arrays;

/**
 * For each of many entries, which ranks have their bit set and how many. Not thread-safe; all
 * memory is taken at construction: {@code entries x (ceil(ranks / 64) x 8 + 4)} bytes.
 */
public final class ContributionBitmap {
  /** Most ranks that a bitmap is designed for. */
  public static final int MAX_RANKS = 1_024;

  private final int ranks;
  private final int wordsPerEntry;
  private final long[] words;
  private final int[] counts;

  /**
   * @param entries number of entries, at least 1
   * @param ranks number of ranks, 1 to {@link #MAX_RANKS}
   */
  public ContributionBitmap(int entries, int ranks) {
    if (ranks < 1 || ranks > MAX_RANKS) {
      throw new IllegalArgumentException("ranks " + ranks + " (1 to " + MAX_RANKS + ")");
    }
    this.ranks = ranks;
    this.wordsPerEntry = (ranks + 63) >>> 6;
    this.words = new long[Math.multiplyExact(entries, wordsPerEntry)];
    this.counts = new int[entries];
  }

  /** Sets a rank's bit; false when it was set already. */
  public boolean set(int entry, int rank) {
    int word = word(entry, rank);
    long bit = 1L << rank;
    if ((words[word] & bit) != 0) {
      return false;
    }
    words[word] |= bit;
    counts[entry]++;
    return true;
  }

  public boolean isSet(int entry, int rank) {
    return (words[word(entry, rank)] & 1L << rank) != 0;
  }

  /** Number of bits set. */
  public int count(int entry) {
    return counts[entry];
  }

  /** Whether every rank's bit is set. */
  public boolean isFull(int entry) {
    return counts[entry] == ranks;
  }

  /** The lowest rank whose bit is set, or -1. */
  public int lowestSet(int entry) {
    int first = entry * wordsPerEntry;
    for (int i = 0; i < wordsPerEntry; i++) {
      if (words[first + i] != 0) {
        return i * 64 + Long.numberOfTrailingZeros(words[first + i]);
      }
    }
    return -1;
  }

  /** Clears every bit of one entry. */
  public void clear(int entry) {
    int first = entry * wordsPerEntry;
    Arrays.fill(words, first, first + wordsPerEntry, 0);
    counts[entry] = 0;
  }

  private int word(int entry, int rank) {
    if (rank < 0 || rank >= ranks) {
      throw new IndexOutOfBoundsException("rank " + rank + " of " + ranks);
    }
    return entry * wordsPerEntry + (rank >>> 6);
  }
}
