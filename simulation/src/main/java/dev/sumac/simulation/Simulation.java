package dev.sumac.simulation;

import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.simulation.Plan.Disruption;
import dev.sumac.simulation.Plan.Expectation;
import dev.sumac.worker.JoinException;
import dev.sumac.worker.RankLostException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * One schedule: the real switch and the real workers under a virtual clock, one seed's network and
 * disruptions, and the oracle that judges the end. Single-threaded; the same seed gives the same
 * trace, byte for byte.
 *
 * <p>The oracle demands:
 *
 * <ol>
 *   <li>every call that completes has the exact reduction, of this run and no other;
 *   <li>every call that fails has a documented error; where nothing but the network was bad, none
 *       fails;
 *   <li>every call and every join ends within its limit (+ 10 %);
 *   <li>survivors are told of a rank's end within the bound that the documentation gives;
 *   <li>at the end the switch knows no run, has all its slots, no flow entry and no stream.
 * </ol>
 */
final class Simulation {
  private static final long END_NS = 1_000 * Plan.SECOND;
  private static final long SETTLE_NS = 20 * Plan.SECOND;
  private static final long KEEP_ALIVE_NS = 4 * Plan.SECOND;
  private static final long BREAK_NOTICED_NS = Plan.MS;
  private static final int FIRST_WORKER_PORT = 40_000;

  private final Plan plan;
  private final EventQueue events = new EventQueue();
  private final VirtualNetwork network;
  private final Trace trace;
  private final SwitchHost switchHost;
  private final List<RankProgram> programs = new ArrayList<>();
  private int nextWorkerPort = FIRST_WORKER_PORT;
  private long disruptedNs = -1;
  private int aliveCount;

  /** How a simulation ended. */
  record Outcome(String violation, long packets, long virtualNs) {}

  private Simulation(Plan plan, Appendable traceTo) {
    this.plan = plan;
    SplittableRandom random = plan.random;
    trace = new Trace(traceTo);
    network = new VirtualNetwork(events, plan.link, plan.faults, random.split(), trace);
    switchHost =
        new SwitchHost(
            events,
            network,
            random.split(),
            SwitchConfig.builder()
                .shards(plan.shards)
                .slots(plan.slots)
                .elementsPerPacket(plan.elements)
                .build(),
            plan);
    for (int rank = 0; rank < plan.ranks; rank++) {
      RankProgram program = program(rank);
      programs.add(program);
      events.at(random.nextLong(plan.latestStartNs), program::start);
    }
    plan.disruptions.forEach(what -> events.at(what.atNs(), () -> disrupt(what)));
  }

  /**
   * Runs one schedule.
   *
   * @param traceTo takes a line for everything that happens, or null
   */
  static Outcome run(Scenario scenario, long seed, Appendable traceTo) {
    return new Simulation(scenario.plan(seed), traceTo).run();
  }

  private Outcome run() {
    String violation = null;
    try {
      while (!allDone() && events.nowNs() < END_NS && events.step()) {
        // Time passes.
      }
      violation = judge();
      if (violation == null) {
        // Late packets arrive, the last streams end.
        long settledNs = events.nowNs() + SETTLE_NS;
        events.at(settledNs, () -> {});
        while (events.nowNs() < settledNs && events.step()) {
          // Time passes.
        }
        violation = leftOver();
      }
    } catch (RuntimeException e) {
      violation = "an exception: " + e + " at " + e.getStackTrace()[0];
    }
    if (violation != null) {
      trace.line(events.nowNs(), "oracle", "%s", violation);
    }
    return new Outcome(violation, network.packets(), events.nowNs());
  }

  private boolean allDone() {
    if (aliveCount > 0) {
      // Cheaper than asking all after each event.
      RankProgram last = programs.get(aliveCount - 1);
      if (!last.isDone()) {
        return false;
      }
    }
    for (int i = programs.size() - 1; i >= 0; i--) {
      if (!programs.get(i).isDone()) {
        aliveCount = i + 1;
        return false;
      }
    }
    return true;
  }

  private RankProgram program(int rank) {
    InetSocketAddress address =
        new InetSocketAddress(SwitchHost.hostAddress(rank + 1), nextWorkerPort++);
    Node node =
        new Node(
            "rank " + rank,
            address,
            events,
            network,
            plan.random.split(),
            50_000,
            plan.receiveBufferBytes);
    return new RankProgram(plan, rank, events, switchHost, node, trace);
  }

  private void disrupt(Disruption what) {
    long nowNs = events.nowNs();
    RankProgram program = programs.get(what.rank());
    if (allDone()) {
      return;
    }
    trace.line(nowNs, "trouble", "%s, rank %d, %d ns", what.what(), what.rank(), what.forNs());
    if (disruptedNs < 0) {
      disruptedNs = nowNs;
    }
    switch (what.what()) {
      case KILL -> {
        program.kill(BREAK_NOTICED_NS);
        if (plan.killedAreReplaced && program.isKilled()) {
          RankProgram replacement = program(what.rank());
          programs.set(what.rank(), replacement);
          events.after(1 + plan.random.nextLong(plan.rejoinNs), replacement::start);
        }
      }
      case VANISH -> program.kill(KEEP_ALIVE_NS);
      case PAUSE -> {
        program.node().pause(nowNs + what.forNs());
        if (what.forNs() > KEEP_ALIVE_NS && program.stream() != null) {
          program.stream().breakOff(KEEP_ALIVE_NS);
        }
      }
      case PAUSE_SWITCH -> {
        switchHost.pause(nowNs + what.forNs());
        if (what.forNs() > KEEP_ALIVE_NS) {
          events.after(KEEP_ALIVE_NS, switchHost::breakConnections);
        }
      }
      case RESTART_SWITCH -> {
        if (switchHost.isUp()) {
          switchHost.crash(BREAK_NOTICED_NS);
          events.after(what.forNs(), switchHost::start);
        }
      }
      case BLOCK_TO_SWITCH ->
          switchHost
              .shards()
              .forEach(shard -> network.link(program.node(), shard).block(nowNs + what.forNs()));
      case BLOCK_FROM_SWITCH ->
          switchHost
              .shards()
              .forEach(shard -> network.link(shard, program.node()).block(nowNs + what.forNs()));
      case CLOSE -> program.close();
    }
  }

  private String judge() {
    for (RankProgram program : programs) {
      if (program.violation() != null) {
        return program.violation();
      }
    }
    for (int rank = 0; rank < programs.size(); rank++) {
      RankProgram program = programs.get(rank);
      if (!program.isDone()) {
        return "rank " + rank + " waits for ever";
      }
      if (program.isKilled()) {
        continue;
      }
      boolean mayFail =
          plan.expectation == Expectation.RIGHT_OR_ERROR
              || (plan.expectation == Expectation.RIGHT_AT_LAST && plan.isSomebodyThrough);
      if (!mayFail && !program.isRight()) {
        return "rank " + rank + " failed without need: " + program.error();
      }
      boolean isToBeTold =
          plan.toldWithinNs > 0 && program.error() != null && !program.node().wasPaused();
      if (isToBeTold && !namesARank(program.error())) {
        return "rank " + rank + " was not told which rank is lost: " + program.error();
      }
      if (isToBeTold && program.doneNs() - disruptedNs > toldWithinNs(program)) {
        return "rank "
            + rank
            + " was told "
            + (program.doneNs() - disruptedNs) / Plan.MS
            + " ms after the event: "
            + program.error();
      }
    }
    if (plan.oddRank >= 0 && programs.stream().noneMatch(program -> program.error() != null)) {
      return "rank " + plan.oddRank + " called something else, and nobody was told";
    }
    return null;
  }

  private static boolean namesARank(Throwable error) {
    return error instanceof RankLostException || error instanceof JoinException;
  }

  /** A rank that died before it had joined is missed when the others' patience ends. */
  private long toldWithinNs(RankProgram program) {
    return program.error() instanceof JoinException
        ? Math.max(plan.toldWithinNs, plan.timeoutNs + plan.timeoutNs / 10)
        : plan.toldWithinNs;
  }

  private String leftOver() {
    if (!switchHost.core().status().isEmpty()) {
      return "the switch still knows a run at the end";
    }
    if (switchHost.core().freeSlots() != plan.slots) {
      return "slots are missing at the end: " + switchHost.core().freeSlots() + " of " + plan.slots;
    }
    if (switchHost.core().streams() != 0) {
      return "control streams are left at the end: " + switchHost.core().streams();
    }
    if (switchHost.core().flowEntries() != 0) {
      return "flow entries are left at the end: " + switchHost.core().flowEntries();
    }
    return null;
  }
}
