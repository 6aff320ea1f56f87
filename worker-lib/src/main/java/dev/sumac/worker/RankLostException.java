package dev.sumac.worker;

/** Another rank is gone, so that no operation can complete any more. */
public final class RankLostException extends SumacException {
  private final int rank;

  public RankLostException(int rank, String message) {
    super(message);
    this.rank = rank;
  }

  /** The rank that is gone. */
  public int rank() {
    return rank;
  }
}
