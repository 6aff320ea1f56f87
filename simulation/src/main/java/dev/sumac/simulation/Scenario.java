package dev.sumac.simulation;

import static dev.sumac.simulation.Plan.MS;
import static dev.sumac.simulation.Plan.SECOND;

import dev.sumac.protocol.OperationKind;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.simulation.Plan.Expectation;
import dev.sumac.simulation.Plan.What;
import java.util.Locale;
import java.util.SplittableRandom;

/** What kind of trouble a simulation has. The seed decides the rest. */
public enum Scenario {
  /** No trouble at all. */
  CALM {
    @Override
    void fill(Plan plan) {}
  },
  /** Independent loss, up to 30 % on each link. */
  LOSS {
    @Override
    void fill(Plan plan) {
      plan.faults = faults(plan.random.nextDouble(0.3), 1, 0, 0, 0);
    }
  },
  /** Loss in bursts of up to 100 packets. */
  BURST {
    @Override
    void fill(Plan plan) {
      double burst = 2 + plan.random.nextInt(99);
      plan.faults = faults(plan.random.nextDouble(0.1), burst, 0, 0, 0);
      plan.timeoutNs = 60 * SECOND;
    }
  },
  /** Packets arrive twice, the second time up to 5 ms later. */
  DUPLICATE {
    @Override
    void fill(Plan plan) {
      plan.faults = faults(plan.random.nextDouble(0.05), 1, plan.random.nextDouble(0.5), 0, 0);
    }
  },
  /** Packets overtake each other. */
  REORDER {
    @Override
    void fill(Plan plan) {
      plan.faults = faults(0, 1, 0.05, plan.random.nextDouble(0.5), 0);
      plan.link = new Link.Spec(20_000, plan.random.nextLong(200_000) + 1, 0, 0);
    }
  },
  /** Bits flip. */
  DAMAGE {
    @Override
    void fill(Plan plan) {
      plan.faults = faults(0, 1, 0, 0, plan.random.nextDouble(0.3));
    }
  },
  /** All of the above at once. */
  HOSTILE {
    @Override
    void fill(Plan plan) {
      hostile(plan);
    }
  },
  /** Slow links with short queues, and a small receive buffer at the switch. */
  CONGESTION {
    @Override
    void fill(Plan plan) {
      long rate = 1_000_000L << plan.random.nextInt(8);
      plan.link = new Link.Spec(20_000, 0, rate, 500 + plan.random.nextInt(5_000));
      plan.receiveBufferBytes = 1_000 + plan.random.nextInt(10_000);
      plan.timeoutNs = 60 * SECOND;
    }
  },
  /** Ranks start up to 5 s apart. */
  LATE_START {
    @Override
    void fill(Plan plan) {
      plan.latestStartNs = 5 * SECOND;
      plan.faults = faults(plan.random.nextDouble(0.2), 1, 0, 0, 0);
    }
  },
  /** A process, a worker's or the switch's, is stopped for up to 1.9 s: nobody may mind. */
  SHORT_PAUSE {
    @Override
    void fill(Plan plan) {
      for (int i = 0; i <= plan.random.nextInt(3); i++) {
        long forNs = 1 + plan.random.nextLong(19 * SECOND / 10);
        What what = plan.random.nextInt(4) == 0 ? What.PAUSE_SWITCH : What.PAUSE;
        plan.disrupt(what, plan.someRank(), forNs);
      }
    }
  },
  /** A process is stopped for so long that it counts as gone; it wakes up afterwards. */
  LONG_PAUSE {
    @Override
    void fill(Plan plan) {
      What what = plan.random.nextInt(4) == 0 ? What.PAUSE_SWITCH : What.PAUSE;
      plan.disrupt(what, plan.someRank(), (5 + plan.random.nextInt(10)) * SECOND);
      plan.expectation = Expectation.RIGHT_OR_ERROR;
      plan.toldWithinNs = what == What.PAUSE ? 10 * SECOND : 0;
    }
  },
  /** Workers are killed. */
  KILL {
    @Override
    void fill(Plan plan) {
      mild(plan);
      for (int i = 0; i <= plan.random.nextInt(2); i++) {
        plan.disrupt(What.KILL, plan.someRank(), 0);
      }
      plan.expectation = Expectation.RIGHT_OR_ERROR;
      plan.toldWithinNs = SECOND;
    }
  },
  /** A worker's host vanishes without a word. */
  VANISH {
    @Override
    void fill(Plan plan) {
      mild(plan);
      plan.disrupt(What.VANISH, plan.someRank(), 0);
      plan.expectation = Expectation.RIGHT_OR_ERROR;
      plan.toldWithinNs = 10 * SECOND;
    }
  },
  /** The network loses everything one way for up to 20 s. */
  ONE_WAY {
    @Override
    void fill(Plan plan) {
      What way = plan.random.nextBoolean() ? What.BLOCK_TO_SWITCH : What.BLOCK_FROM_SWITCH;
      plan.disrupt(way, plan.someRank(), plan.random.nextLong(20 * SECOND));
      plan.expectation = Expectation.RIGHT_OR_ERROR;
    }
  },
  /** A rank closes although its program is not over. */
  CLOSE_EARLY {
    @Override
    void fill(Plan plan) {
      mild(plan);
      plan.disrupt(What.CLOSE, plan.someRank(), 0);
      plan.expectation = Expectation.RIGHT_OR_ERROR;
    }
  },
  /** A rank calls another length, type or kind than the others. */
  MISMATCH {
    @Override
    void fill(Plan plan) {
      mild(plan);
      plan.ranks = Math.max(2, plan.ranks);
      plan.oddRank = plan.someRank();
      plan.oddCall = plan.random.nextInt(plan.calls.size());
      Call right = plan.calls.get(plan.oddCall);
      do {
        plan.odd = plan.call();
      } while (plan.odd.equals(right));
      plan.expectation = Expectation.RIGHT_OR_ERROR;
    }
  },
  /** The switch is killed and started again; the ranks rejoin. */
  RESTART_SWITCH {
    @Override
    void fill(Plan plan) {
      mild(plan);
      for (int i = 0; i <= plan.random.nextInt(2); i++) {
        plan.disrupt(What.RESTART_SWITCH, 0, 1 + plan.random.nextLong(400 * MS));
      }
      rejoin(plan);
    }
  },
  /** Workers are killed and replaced; the others rejoin, on a network that keeps old packets. */
  REJOIN {
    @Override
    void fill(Plan plan) {
      hostile(plan);
      plan.faults = new FaultSpec(0.02, 1, 0.3, 0.3, 30 * MS, 0, 1);
      plan.rejoinNs = 2 * MS;
      plan.ranks = Math.max(2, plan.ranks);
      for (int i = 0; i <= plan.random.nextInt(3); i++) {
        plan.disrupt(What.KILL, plan.someRank(), 0);
      }
      rejoin(plan);
    }
  },
  /** A hundred operations, while the numbers of chunks, operations and runs pass 2^15 to 2^53. */
  WRAP {
    @Override
    void fill(Plan plan) {
      hostile(plan);
      int[] bits = {15, 16, 24, 31, 32, 53};
      plan.firstChunk = Math.max(0, (1L << bits[plan.random.nextInt(bits.length)]) - 5);
      plan.firstOperation = (int) (1L << bits[plan.random.nextInt(bits.length)]) - 5;
      plan.firstRun = (int) (1L << bits[plan.random.nextInt(bits.length)]) - 1;
      plan.calls.clear();
      for (int i = 0; i < 100; i++) {
        plan.calls.add(new Call(i % 2 == 0, OperationKind.SUM, plan.random.nextInt(20)));
      }
      plan.disrupt(What.KILL, plan.someRank(), 0);
      rejoin(plan);
    }
  },
  /** Four ranks, two slots, two hundred small operations: slots are used again at every packet. */
  SLOT_REUSE {
    @Override
    void fill(Plan plan) {
      plan.ranks = 4;
      plan.shards = 1;
      plan.slots = 2;
      plan.window = 2;
      plan.elements = 8;
      plan.faults = faults(0.05, 1, 0.05, 0.05, 0);
      plan.timeoutNs = 60 * SECOND;
      plan.calls.clear();
      for (int i = 0; i < 200; i++) {
        plan.calls.add(new Call(false, OperationKind.SUM, 1 + plan.random.nextInt(8)));
      }
    }
  };

  /** Fills in what this scenario is about. */
  abstract void fill(Plan plan);

  /** The plan of a seed. */
  final Plan plan(long seed) {
    Plan plan = new Plan(new SplittableRandom(seed * 64 + ordinal()));
    fill(plan);
    return plan;
  }

  /** Name for people and options: {@code restart-switch}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static FaultSpec faults(
      double loss, double burst, double duplicate, double reorder, double damage) {
    return new FaultSpec(loss, burst, duplicate, reorder, 5 * MS, damage, 1);
  }

  private static void mild(Plan plan) {
    plan.faults = faults(plan.random.nextDouble(0.05), 1, 0.02, 0.02, 0.01);
  }

  private static void hostile(Plan plan) {
    SplittableRandom random = plan.random;
    plan.faults =
        faults(
            random.nextDouble(0.2),
            1,
            random.nextDouble(0.2),
            random.nextDouble(0.2),
            random.nextDouble(0.05));
    plan.link = new Link.Spec(20_000, random.nextLong(100_000) + 1, 0, 0);
  }

  private static void rejoin(Plan plan) {
    plan.attempts = 30;
    plan.killedAreReplaced = true;
    plan.expectation = Expectation.RIGHT_AT_LAST;
  }
}
