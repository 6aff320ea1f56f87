package dev.sumac.dataplane;

import dev.sumac.protocol.Malformed;
import java.util.Locale;

/** What a shard counts. The names in {@code sumac status} are these in lower case with dashes. */
public enum Counter {
  /** Packets taken in, well formed or not. */
  PACKETS_IN,
  /** Contributions that entered a sum. */
  CONTRIBUTIONS,
  /** Chunks whose last contribution arrived. */
  CHUNKS_COMPLETED,
  /** Results sent once more to a rank that repeated its contribution. */
  RESULTS_REPEATED,
  /** Contributions that were in the sum already. */
  DROPPED_DUPLICATE,
  /** Packets of a chunk that every rank has moved past. */
  DROPPED_STALE,
  /** Contributions to a chunk that no rank can have reached. */
  DROPPED_FROM_THE_FUTURE,
  /** No flow entry matches the tag. */
  DROPPED_NO_FLOW_ENTRY,
  /** Another run's number. */
  DROPPED_WRONG_RUN,
  /** Not the run's secret. */
  DROPPED_WRONG_COOKIE,
  /** The run's packets carry authentication tags, and this one's is wrong; or they carry none. */
  DROPPED_WRONG_AUTHENTICATION,
  /** The source address has not been proved for that rank. */
  DROPPED_UNPROVED_SOURCE,
  /** A packet kind that a worker does not send, or not in this release policy. */
  DROPPED_UNEXPECTED_KIND,
  /** More elements than a slot has room for. */
  DROPPED_TOO_MANY_ELEMENTS,
  /** The contribution disagrees with another rank's about the operation. */
  DROPPED_MISMATCH,
  /** Acknowledgements (release policy ACKNOWLEDGED). */
  ACKS,
  /**
   * Times that the pool was cleared because acknowledgements were missing (release policy
   * ACKNOWLEDGED).
   */
  POOL_CLEARS,
  /** Requests to send a contribution again (release policy ACKNOWLEDGED). */
  SOLICITS,
  MALFORMED_TOO_SHORT,
  MALFORMED_BAD_MAGIC,
  MALFORMED_UNKNOWN_VERSION,
  MALFORMED_UNKNOWN_KIND,
  MALFORMED_UNKNOWN_FLAG,
  MALFORMED_UNKNOWN_TYPE,
  MALFORMED_UNKNOWN_OPERATION,
  MALFORMED_UNEXPECTED_ELEMENTS,
  MALFORMED_NEGATIVE_CHUNK,
  MALFORMED_TRUNCATED,
  MALFORMED_WRONG_CHECK_VALUE;

  private static final Counter[] OF_REASON = new Counter[Malformed.values().length];

  static {
    for (Malformed reason : Malformed.values()) {
      if (reason != Malformed.NONE) {
        OF_REASON[reason.ordinal()] = valueOf("MALFORMED_" + reason.name());
      }
    }
  }

  /** The counter of a parse failure. */
  static Counter of(Malformed reason) {
    return OF_REASON[reason.ordinal()];
  }

  /** Name for people and metrics: {@code dropped-wrong-run}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
