package dev.sumac.dataplane;

import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.SwitchMessage;
import java.util.ArrayList;
import java.util.List;

/**
 * One run of a job as the control side sees it: its parameters, its ranks' control streams, and how
 * far it has come. Used on the control thread only.
 *
 * <pre>
 *   GATHERING --every rank joined and proved on every shard--> RUNNING
 *   GATHERING, RUNNING --a rank lost, a mismatch, all ranks left--> ENDED
 * </pre>
 */
final class JobRun {
  enum State {
    GATHERING,
    RUNNING,
    ENDED
  }

  final String job;
  final RunSpec spec;
  final JobKey key;
  final JoinRequest first;
  final int shards;

  private final MemberStream[] members;
  private final int[] provedShards;
  private final boolean[] left;
  private State state = State.GATHERING;
  private int shardsToForget;

  /**
   * @param first the request of the rank that came first; the others must agree with it
   * @param key what every rank must prove to know
   */
  JobRun(RunSpec spec, JoinRequest first, JobKey key, int shards) {
    this.job = first.getJob();
    this.spec = spec;
    this.key = key;
    this.first = first;
    this.shards = shards;
    this.members = new MemberStream[spec.worldSize()];
    this.provedShards = new int[spec.worldSize()];
    this.left = new boolean[spec.worldSize()];
    this.shardsToForget = shards;
  }

  State state() {
    return state;
  }

  MemberStream member(int rank) {
    return members[rank];
  }

  void join(int rank, MemberStream stream) {
    members[rank] = stream;
  }

  /** A shard has proved a rank's address. True when that was the last one and the run may start. */
  boolean proved(int rank) {
    provedShards[rank]++;
    if (state != State.GATHERING || !missing().isEmpty()) {
      return false;
    }
    state = State.RUNNING;
    return true;
  }

  /** A rank has closed. True when all have. */
  boolean leave(int rank) {
    left[rank] = true;
    for (boolean gone : left) {
      if (!gone) {
        return false;
      }
    }
    return true;
  }

  boolean hasLeft(int rank) {
    return left[rank];
  }

  /** Ranks that have not joined yet, or not proved their address on every shard. */
  List<Integer> missing() {
    List<Integer> missing = new ArrayList<>();
    for (int rank = 0; rank < members.length; rank++) {
      if (members[rank] == null || provedShards[rank] < shards) {
        missing.add(rank);
      }
    }
    return missing;
  }

  void end() {
    state = State.ENDED;
  }

  /** A shard has forgotten the run. True when all have. */
  boolean forgotten() {
    return --shardsToForget == 0;
  }

  /** Tells every rank that has joined and not left. */
  void tellAll(SwitchMessage message) {
    for (int rank = 0; rank < members.length; rank++) {
      if (members[rank] != null && !left[rank]) {
        members[rank].tell(message);
      }
    }
  }

  /** Ends every stream that is still open. */
  void closeStreams() {
    for (MemberStream member : members) {
      if (member != null) {
        member.close();
      }
    }
  }
}
