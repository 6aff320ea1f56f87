package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.control.Admitted;
import dev.sumac.protocol.control.JobStatus;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
import dev.sumac.protocol.control.Mismatch;
import dev.sumac.protocol.control.RankLeft;
import dev.sumac.protocol.control.RankLost;
import dev.sumac.protocol.control.Refused;
import dev.sumac.protocol.control.Started;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.Waiting;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may take part in which run, and who is told when a run ends. A state machine: it owns no
 * thread and no socket, and is used on the control thread only.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A job name has at most one run that is not ENDED.
 *   <li>The slots of all runs that some shard still knows never exceed a shard's slots.
 *   <li>Every rank of a run that ends learns why, once; nobody is left waiting.
 *   <li>No data is asked for before every rank's address is proved on every shard.
 * </ol>
 */
final class Admission {
  private static final Logger LOG = LoggerFactory.getLogger(Admission.class);

  /** What admission asks of the data plane. */
  interface DataPlane {
    void install(RunSpec run);

    void remove(RunSpec run);
  }

  private final SwitchConfig config;
  private final int receiveBufferBytes;
  private final long boot;
  private final List<Integer> shardPorts;
  private final RandomGenerator random;
  private final DataPlane dataPlane;
  private final Map<String, JobRun> jobs = new LinkedHashMap<>();
  private final Map<Integer, JobRun> runs = new HashMap<>();
  private int freeSlots;
  private int nextRun;
  private int nextJobNumber;

  /**
   * @param receiveBufferBytes what a shard's socket got: the ranks of a run together must not have
   *     more in flight
   * @param boot number of this start of the switch
   * @param shardPorts UDP ports of the shards, in their order
   * @param random where cookies and the first run number come from
   */
  Admission(
      SwitchConfig config,
      int receiveBufferBytes,
      long boot,
      List<Integer> shardPorts,
      RandomGenerator random,
      DataPlane dataPlane) {
    this.config = config;
    this.receiveBufferBytes = receiveBufferBytes;
    this.boot = boot;
    this.shardPorts = shardPorts;
    this.random = random;
    this.dataPlane = dataPlane;
    this.freeSlots = config.slots();
    this.nextRun = random.nextInt();
  }

  /**
   * A rank asks to take part. Returns its run, or null when it was refused; either way it has been
   * told.
   */
  JobRun join(JoinRequest request, MemberStream stream) {
    Refused refusal = refusalOf(request);
    JobRun run = jobs.get(request.getJob());
    if (refusal == null && run != null) {
      refusal = disagreement(request, run);
    }
    if (refusal == null && run == null) {
      refusal = shortage();
      if (refusal == null) {
        run = open(request);
      }
    }
    if (refusal != null) {
      LOG.info(
          "refused rank {} of job '{}' from {}: {}",
          request.getRank(),
          request.getJob(),
          stream.peer(),
          refusal.getText());
      stream.tell(SwitchMessage.newBuilder().setRefused(refusal).build());
      stream.close();
      return null;
    }
    run.join(request.getRank(), stream);
    stream.tell(SwitchMessage.newBuilder().setAdmitted(admitted(run)).build());
    tellWaiting(run);
    return run;
  }

  /** A rank's stream says that it goes. */
  void leave(JobRun run, int rank, Leave leave) {
    if (run.state() == JobRun.State.ENDED || run.hasLeft(rank)) {
      return;
    }
    if (!leave.getFailure().isEmpty()) {
      rankLost(run, rank, leave.getFailure());
    } else if (run.state() == JobRun.State.GATHERING) {
      rankLost(run, rank, "it closed before the job started");
    } else if (run.leave(rank)) {
      end(run);
    } else {
      run.tellAll(
          SwitchMessage.newBuilder()
              .setRankLeft(
                  RankLeft.newBuilder().setRank(rank).setNextOperation(leave.getNextOperation()))
              .build());
    }
  }

  /** A rank's stream has ended without a word before. */
  void streamEnded(JobRun run, int rank, String reason) {
    if (run.state() == JobRun.State.ENDED) {
      return;
    }
    if (!run.hasLeft(rank)) {
      rankLost(run, rank, reason);
    } else if (run.spec.policy() == ReleasePolicy.ACKNOWLEDGED) {
      // It had stayed to answer the others' requests; now they may wait for an answer in vain.
      rankLost(run, rank, "it left, and then " + reason);
    }
  }

  void proved(int runNumber, int rank) {
    JobRun run = runs.get(runNumber);
    if (run == null || run.state() != JobRun.State.GATHERING) {
      return;
    }
    if (run.proved(rank)) {
      LOG.info(
          "job '{}' run {} started with {} ranks",
          run.job,
          Integer.toUnsignedString(runNumber),
          run.spec.worldSize());
      run.tellAll(SwitchMessage.newBuilder().setStarted(Started.getDefaultInstance()).build());
    } else {
      tellWaiting(run);
    }
  }

  void mismatch(int runNumber, int operation, int rankA, String valueA, int rankB, String valueB) {
    JobRun run = runs.get(runNumber);
    if (run == null || run.state() == JobRun.State.ENDED) {
      return;
    }
    LOG.info("job '{}': rank {} calls {}, rank {} calls {}", run.job, rankA, valueA, rankB, valueB);
    run.tellAll(
        SwitchMessage.newBuilder()
            .setMismatch(
                Mismatch.newBuilder()
                    .setOperation(operation)
                    .setRankA(rankA)
                    .setValueA(valueA)
                    .setRankB(rankB)
                    .setValueB(valueB))
            .build());
    end(run);
  }

  /** A shard has forgotten a run. */
  void removed(int runNumber) {
    JobRun run = runs.get(runNumber);
    if (run != null && run.forgotten()) {
      runs.remove(runNumber);
      freeSlots += run.spec.slots();
    }
  }

  /** Ends every run; the ranks are told that the switch stops. */
  void stop() {
    for (JobRun run : new ArrayList<>(jobs.values())) {
      end(run);
    }
  }

  int freeSlots() {
    return freeSlots;
  }

  List<JobStatus> status() {
    List<JobStatus> list = new ArrayList<>();
    for (JobRun run : jobs.values()) {
      list.add(
          JobStatus.newBuilder()
              .setJob(run.job)
              .setRun(run.spec.run())
              .setWorldSize(run.spec.worldSize())
              .setSlots(run.spec.slots())
              .setStarted(run.state() == JobRun.State.RUNNING)
              .addAllMissingRanks(run.missing())
              .build());
    }
    return list;
  }

  private void rankLost(JobRun run, int rank, String reason) {
    LOG.info("job '{}': rank {} lost: {}", run.job, rank, reason);
    run.tellAll(
        SwitchMessage.newBuilder()
            .setRankLost(RankLost.newBuilder().setRank(rank).setReason(reason))
            .build());
    end(run);
  }

  private void end(JobRun run) {
    run.end();
    run.closeStreams();
    jobs.remove(run.job);
    dataPlane.remove(run.spec);
  }

  private JobRun open(JoinRequest request) {
    int elements = elementsOf(request);
    int slots = grant(request, elements);
    RunSpec spec =
        new RunSpec(
            freeJobNumber(),
            nextRun++,
            random.nextLong(),
            request.getWorldSize(),
            slots,
            elements,
            request.getReleasePolicy() == dev.sumac.protocol.control.ReleasePolicy.ACKNOWLEDGED
                ? ReleasePolicy.ACKNOWLEDGED
                : ReleasePolicy.TWO_VERSION,
            0);
    JobRun run = new JobRun(spec, request, config.shards());
    jobs.put(request.getJob(), run);
    runs.put(spec.run(), run);
    freeSlots -= slots;
    dataPlane.install(spec);
    return run;
  }

  private int elementsOf(JoinRequest request) {
    return request.getElementsPerPacket() == 0
        ? config.elementsPerPacket()
        : request.getElementsPerPacket();
  }

  /**
   * As many slots as are asked for, are free, and let every rank's window into the receive buffer
   * at once.
   */
  private int grant(JoinRequest request, int elements) {
    long windowBytes = (long) request.getWorldSize() * AggregationHeader.packetBytes(elements);
    long fitting = Math.max(1, receiveBufferBytes / windowBytes);
    return Integer.highestOneBit((int) Math.min(Math.min(request.getWindow(), freeSlots), fitting));
  }

  private int freeJobNumber() {
    boolean taken;
    do {
      nextJobNumber = (nextJobNumber + 1) & 0xFFFF;
      taken = false;
      for (JobRun run : runs.values()) {
        taken |= run.spec.job() == nextJobNumber;
      }
    } while (taken);
    return nextJobNumber;
  }

  private Admitted admitted(JobRun run) {
    RunSpec spec = run.spec;
    return Admitted.newBuilder()
        .setRun(spec.run())
        .setBoot(boot)
        .setCookie(spec.cookie())
        .setJobNumber(spec.job())
        .setSlots(spec.slots())
        .setElementsPerPacket(spec.elements())
        .addAllShardPorts(shardPorts)
        .setFirstChunk(spec.firstChunk())
        .build();
  }

  private static void tellWaiting(JobRun run) {
    run.tellAll(
        SwitchMessage.newBuilder()
            .setWaiting(Waiting.newBuilder().addAllMissingRanks(run.missing()))
            .build());
  }

  private Refused refusalOf(JoinRequest request) {
    if (request.getProtocolVersion() != AggregationHeader.VERSION) {
      return refused(
          Refused.Reason.PROTOCOL_VERSION,
          "protocol version %d here, %d at the worker: use one release on both",
          AggregationHeader.VERSION,
          request.getProtocolVersion());
    }
    if (!config.token().isEmpty() && !isToken(config.tokenBytes(), request)) {
      return wrongToken("this switch's --token");
    }
    if (request.getJob().isEmpty() || request.getJob().length() > 128) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "job name of %d characters (1 to 128): option --job",
          request.getJob().length());
    }
    if (request.getWorldSize() < 1 || request.getWorldSize() > SwitchConfig.MAX_WORLD_SIZE) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "world size %d (1 to %d): option --world",
          request.getWorldSize(),
          SwitchConfig.MAX_WORLD_SIZE);
    }
    if (request.getRank() < 0 || request.getRank() >= request.getWorldSize()) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "rank %d of a world of %d (0 to %d): option --rank",
          request.getRank(),
          request.getWorldSize(),
          request.getWorldSize() - 1);
    }
    if (request.getWindow() < 1) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "window %d (at least 1): option --window",
          request.getWindow());
    }
    if (request.getElementsPerPacket() == 1) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "1 element a packet (at least %d): option --elements-per-packet",
          SwitchConfig.MIN_ELEMENTS_PER_PACKET);
    }
    if (request.getElementsPerPacket() < 0
        || request.getElementsPerPacket() > config.elementsPerPacket()) {
      return refused(
          Refused.Reason.PARAMETER_MISMATCH,
          "%d elements a packet at the worker, room for %d at the switch: option"
              + " --elements-per-packet of either",
          Integer.toUnsignedLong(request.getElementsPerPacket()),
          config.elementsPerPacket());
    }
    return null;
  }

  private static Refused disagreement(JoinRequest request, JobRun run) {
    if (!isToken(run.token, request)) {
      return wrongToken("the token of the ranks that joined before");
    }
    JoinRequest first = run.first;
    String option = null;
    Object mine = null;
    Object theirs = null;
    if (request.getWorldSize() != first.getWorldSize()) {
      option = "world size: option --world";
      mine = request.getWorldSize();
      theirs = first.getWorldSize();
    } else if (request.getElementsPerPacket() != first.getElementsPerPacket()) {
      option = "elements a packet: option --elements-per-packet (0 for the switch's own number)";
      mine = request.getElementsPerPacket();
      theirs = first.getElementsPerPacket();
    } else if (request.getWindow() != first.getWindow()) {
      option = "window: option --window";
      mine = request.getWindow();
      theirs = first.getWindow();
    } else if (request.getReleasePolicy() != first.getReleasePolicy()) {
      option = "release policy: option --release";
      mine = request.getReleasePolicy();
      theirs = first.getReleasePolicy();
    }
    if (option != null) {
      return refused(
          Refused.Reason.PARAMETER_MISMATCH,
          "rank %d asks for %s, rank %d for %s; they must have the same %s",
          request.getRank(),
          mine,
          first.getRank(),
          theirs,
          option);
    }
    MemberStream holder = run.member(request.getRank());
    if (holder != null) {
      return refused(
          Refused.Reason.RANK_TAKEN,
          "rank %d of job '%s' is taken by a worker at %s: option --rank, or --job for another job",
          request.getRank(),
          run.job,
          holder.peer());
    }
    return null;
  }

  private Refused shortage() {
    if (jobs.size() >= config.maxJobs()) {
      return refused(
          Refused.Reason.NO_RESOURCES,
          "%d jobs are running, no more are allowed: the switch's option --max-jobs",
          jobs.size());
    }
    if (freeSlots < 1) {
      return refused(
          Refused.Reason.NO_RESOURCES,
          "all %d slots are lent to other jobs: the switch's option --slots, or --window of the"
              + " other jobs",
          config.slots());
    }
    return null;
  }

  private static boolean isToken(byte[] expected, JoinRequest request) {
    return MessageDigest.isEqual(expected, request.getToken().toByteArray());
  }

  private static Refused wrongToken(String which) {
    return refused(
        Refused.Reason.WRONG_TOKEN, "the worker's token is not %s: option --token", which);
  }

  private static Refused refused(Refused.Reason reason, String format, Object... arguments) {
    return Refused.newBuilder()
        .setReason(reason)
        .setText(String.format(Locale.ROOT, format, arguments))
        .build();
  }
}
