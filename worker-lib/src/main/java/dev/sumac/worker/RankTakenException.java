package dev.sumac.worker;

/**
 * Another worker has this rank in this job, or had it until a moment ago: the switch notices a
 * silent worker's end after a few seconds.
 */
public final class RankTakenException extends JoinException {
  public RankTakenException(String message) {
    super(message);
  }
}
