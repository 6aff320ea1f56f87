package dev.sumac.dataplane;

import dev.sumac.protocol.control.JoinRequest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The control streams, and among them those that have not proved yet that they know their job's
 * secret. A state machine without a clock; used on the control thread only.
 *
 * <pre>
 *   OPEN --JoinRequest--> CHALLENGED --JoinProof--> not pending any more
 *   OPEN, CHALLENGED --5 s, or room is needed and it is the oldest of the fullest host--> put out
 * </pre>
 *
 * <p>Whoever is new gets in, and the oldest of the host that has most goes: a worker proves itself
 * within a round trip, while a flood of joins that never do pushes out its own.
 */
final class PendingJoins {
  /** A stream has this long to prove itself, from the first tick that sees it. */
  static final long LIMIT_NS = 5_000_000_000L;

  /** One stream that has not proved itself. */
  static final class Pending {
    JoinRequest request;
    byte[] nonce;
    boolean wantsKey;
    private boolean seen;
    private long seenNs;
  }

  private final int maxStreams;
  private final int maxChallenged;
  private final Set<MemberStream> streams = new HashSet<>();
  private final Map<MemberStream, Pending> pending = new LinkedHashMap<>();
  private final Crowd waiting = new Crowd();
  private final Crowd challenged = new Crowd();

  PendingJoins(int maxStreams, int maxChallenged) {
    this.maxStreams = maxStreams;
    this.maxChallenged = maxChallenged;
  }

  /** Whether a further stream finds room as it is. */
  boolean hasRoom() {
    return streams.size() < maxStreams;
  }

  /** A stream has been opened. */
  void opened(MemberStream stream) {
    streams.add(stream);
    pending.put(stream, new Pending());
    waiting.add(stream);
  }

  /** The pending stream, or null when this is not one. */
  Pending get(MemberStream stream) {
    return pending.get(stream);
  }

  /**
   * The stream is about to be challenged. Returns the stream that has to go for it, or null when
   * there is room.
   */
  MemberStream challenged(MemberStream stream) {
    challenged.add(stream);
    return challenged.size() <= maxChallenged ? null : challenged.first();
  }

  /** The pending stream that is to make room for another, or null when there is none. */
  MemberStream oldest() {
    return waiting.first();
  }

  /** The stream is a member now, or refused: not pending any more. */
  void decided(MemberStream stream) {
    pending.remove(stream);
    waiting.remove(stream);
    challenged.remove(stream);
  }

  /** The stream is gone. */
  void ended(MemberStream stream) {
    decided(stream);
    streams.remove(stream);
  }

  /** Streams whose time is over. */
  List<MemberStream> late(long nowNs) {
    List<MemberStream> late = new ArrayList<>();
    pending.forEach(
        (stream, join) -> {
          if (!join.seen) {
            join.seen = true;
            join.seenNs = nowNs;
          } else if (nowNs - join.seenNs >= LIMIT_NS) {
            late.add(stream);
          }
        });
    return late;
  }

  int streams() {
    return streams.size();
  }

  int pending() {
    return pending.size();
  }
}
