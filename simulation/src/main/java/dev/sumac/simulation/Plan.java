package dev.sumac.simulation;

import dev.sumac.protocol.OperationKind;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.worker.ReleasePolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Everything that one seed decides before a simulation starts: sizes, the ranks' program, the
 * network, and what goes wrong when. {@link Scenario} fills it in. Not thread-safe.
 */
final class Plan {
  /** What the oracle demands of the ranks that have not crashed. */
  enum Expectation {
    /** Every call of every rank is right. */
    ALL_RIGHT,
    /** Calls are right, or fail with a documented error. */
    RIGHT_OR_ERROR,
    /**
     * As before, and after errors and rejoining every rank gets through its whole program, unless
     * another one is through already and needs no further run: nobody can wait for all to know that
     * all know.
     */
    RIGHT_AT_LAST
  }

  static final long MS = 1_000_000;
  static final long SECOND = 1_000 * MS;

  /** Something that happens at a moment of virtual time. */
  record Disruption(long atNs, What what, int rank, long forNs) {}

  /** Kinds of disruptions. */
  enum What {
    /** The rank's process is killed; its connection breaks at once. */
    KILL,
    /** The rank's host is gone: nobody hears of it but by silence. */
    VANISH,
    /** The rank's process is stopped for a while. */
    PAUSE,
    /** The switch's process is stopped for a while. */
    PAUSE_SWITCH,
    /** The switch's process is killed and started again after a while. */
    RESTART_SWITCH,
    /** Everything from the rank to the switch is lost for a while. */
    BLOCK_TO_SWITCH,
    /** Everything from the switch to the rank is lost for a while. */
    BLOCK_FROM_SWITCH,
    /** The rank closes; a program error. */
    CLOSE
  }

  final SplittableRandom random;
  int ranks;
  int shards = 1;
  int slots;
  int window;
  int elements;
  int receiveBufferBytes = 4 << 20;
  ReleasePolicy policy = ReleasePolicy.TWO_VERSION;
  Link.Spec link = new Link.Spec(20_000, 0, 0, 0);
  FaultSpec faults = FaultSpec.NONE;
  List<Call> calls = new ArrayList<>();
  int callsInFlight = 1;
  long timeoutNs = 10 * SECOND;
  long latestStartNs = MS;
  long thinkNs = MS / 10;
  long rejoinNs = 20 * MS;
  int attempts = 1;
  boolean killedAreReplaced;
  Expectation expectation = Expectation.ALL_RIGHT;

  /** Where counters start: to see them pass their top. */
  int firstRun;

  int firstOperation;
  long firstChunk;

  /** A rank that calls something else at {@link #oddCall}, or -1. */
  int oddRank = -1;

  int oddCall;
  Call odd;
  final List<Disruption> disruptions = new ArrayList<>();

  /** Set by the first rank that gets through its whole program. */
  boolean isSomebodyThrough;

  /**
   * Survivors that fail must have failed so long after the first disruption, with the lost rank's
   * number; or 0.
   */
  long toldWithinNs;

  Plan(SplittableRandom random) {
    this.random = random;
    ranks = 1 + random.nextInt(8);
    shards = random.nextInt(3) == 0 ? 2 : 1;
    slots = 1 << random.nextInt(4);
    window = slots;
    elements = 2 + random.nextInt(9);
    callsInFlight = 1 + random.nextInt(3);
    policy = random.nextInt(4) == 0 ? ReleasePolicy.ACKNOWLEDGED : ReleasePolicy.TWO_VERSION;
    if (policy == ReleasePolicy.ACKNOWLEDGED) {
      timeoutNs = 60 * SECOND; // Slow under heavy loss: lost acknowledgements clear the whole pool.
    }
    firstRun = random.nextInt();
    int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      calls.add(call());
    }
  }

  /** Some operation. */
  Call call() {
    OperationKind[] kinds = OperationKind.values();
    OperationKind kind =
        random.nextInt(3) == 0 ? kinds[random.nextInt(kinds.length)] : OperationKind.SUM;
    int most = 6 * slots * elements;
    int length = random.nextInt(8) == 0 ? random.nextInt(3) : 1 + random.nextInt(most);
    return new Call(random.nextBoolean(), kind, length);
  }

  int someRank() {
    return random.nextInt(ranks);
  }

  /** A moment from which much of the program is still to come. */
  long someTime() {
    return random.nextLong(3 * MS) + random.nextLong(3 * MS);
  }

  void disrupt(What what, int rank, long forNs) {
    disruptions.add(new Disruption(MS / 2 + someTime(), what, rank, forNs));
  }
}
