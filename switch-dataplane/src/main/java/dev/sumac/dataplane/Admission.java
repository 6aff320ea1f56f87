package dev.sumac.dataplane;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.SipHash;
import dev.sumac.protocol.control.Admitted;
import dev.sumac.protocol.control.JobStatus;
import dev.sumac.protocol.control.JoinChallenge;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
import dev.sumac.protocol.control.Mismatch;
import dev.sumac.protocol.control.RankLeft;
import dev.sumac.protocol.control.RankLost;
import dev.sumac.protocol.control.Refused;
import dev.sumac.protocol.control.Started;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.Waiting;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may take part in which run, and who is told when a run ends. A state machine: it owns no
 * thread, no socket, no clock and no source of chance, and is used on the control thread only.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A job name has at most one run that is not ENDED.
 *   <li>The slots of all runs that some shard still knows never exceed a shard's slots.
 *   <li>Every rank of a run that ends learns why, once; nobody is left waiting.
 *   <li>No data is asked for before every rank's address is proved on every shard.
 *   <li>Nobody becomes a member, or learns anything of a run, without proving to know its secret.
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
  private final DataPlane dataPlane;
  private final RandomGenerator random;
  private final JoinChecks checks;
  private final PendingJoins pending;
  private final LogLimit logLimit = new LogLimit();
  private final Map<String, JobRun> jobs = new LinkedHashMap<>();
  private final Map<Integer, JobRun> runs = new HashMap<>();
  private int freeSlots;
  private int nextRun;
  private long firstChunk;
  private int nextJobNumber;
  private long nowNs;

  /**
   * @param receiveBufferBytes what a shard's socket got: the ranks of a run together must not have
   *     more in flight
   * @param boot number of this start of the switch
   * @param shardPorts UDP ports of the shards, in their order
   * @param random where nonces, cookies and the first run's number come from: SecureRandom but in
   *     simulations
   */
  Admission(
      SwitchConfig config,
      int receiveBufferBytes,
      long boot,
      List<Integer> shardPorts,
      DataPlane dataPlane,
      RandomGenerator random) {
    this.config = config;
    this.receiveBufferBytes = receiveBufferBytes;
    this.boot = boot;
    this.shardPorts = shardPorts;
    this.dataPlane = dataPlane;
    this.freeSlots = config.slots();
    this.random = random;
    this.checks = new JoinChecks(config);
    this.pending = new PendingJoins(config.maxStreams(), config.maxPendingJoins());
    this.nextRun = random.nextInt();
  }

  /** See {@link SwitchCore#startAt}. */
  void startAt(int run, long chunk) {
    nextRun = run;
    firstChunk = chunk;
  }

  /** About once a second: puts out streams that have not proved themselves in time. */
  void onTick(long now) {
    nowNs = now;
    for (MemberStream stream : pending.late(now)) {
      refuse(
          stream,
          JoinChecks.refused(
              Refused.Reason.BAD_REQUEST,
              "no proof of the job's secret within %d s",
              PendingJoins.LIMIT_NS / 1_000_000_000L));
    }
    logLimit.flush(now, LOG::info);
  }

  /** Somebody has opened a control stream. False when there is no room; it has been told then. */
  boolean opened(MemberStream stream) {
    if (!pending.hasRoom()) {
      MemberStream oldest = pending.oldest();
      if (oldest == null) {
        refuse(stream, checks.tooManyStreams());
        return false;
      }
      putOut(oldest, checks.tooManyStreams());
    }
    pending.opened(stream);
    return true;
  }

  /** A control stream has ended, in whatever way; what it was a member of is another matter. */
  void ended(MemberStream stream) {
    pending.ended(stream);
  }

  /** A rank asks to take part: it is challenged or refused. */
  void join(JoinRequest request, MemberStream stream) {
    Refused refusal = checks.ofRequest(request);
    if (refusal != null) {
      refuse(stream, request, refusal);
      return;
    }
    PendingJoins.Pending join = pending.get(stream);
    if (join == null) {
      return;
    }
    join.request = request;
    MemberStream oldest = pending.challenged(stream);
    if (oldest != null) {
      putOut(oldest, checks.tooManyPending());
    }
    if (oldest != stream) {
      challenge(join, stream);
    }
  }

  private void challenge(PendingJoins.Pending join, MemberStream stream) {
    join.wantsKey = config.secrets().isOpen() && !jobs.containsKey(join.request.getJob());
    join.nonce = new byte[JoinChecks.NONCE_BYTES];
    random.nextBytes(join.nonce);
    stream.tell(
        SwitchMessage.newBuilder()
            .setChallenge(
                JoinChallenge.newBuilder()
                    .setNonce(ByteString.copyFrom(join.nonce))
                    .setWantsKey(join.wantsKey))
            .build());
  }

  /**
   * A rank answers its challenge. Returns its run, or null when it was refused or challenged anew;
   * in each case it has been told.
   */
  JobRun prove(JoinProof proof, MemberStream stream) {
    PendingJoins.Pending join = pending.get(stream);
    if (join == null || join.nonce == null) {
      refuse(stream, JoinChecks.refused(Refused.Reason.BAD_REQUEST, "a proof without a challenge"));
      return null;
    }
    JoinRequest request = join.request;
    JobRun run = jobs.get(request.getJob());
    if (run == null && config.secrets().isOpen() && !join.wantsKey) {
      challenge(join, stream); // The run that had the key has ended meanwhile.
      return null;
    }
    JobKey key = run == null ? keyOf(request, proof) : run.key;
    Refused refusal = checks.ofProof(key, join, proof, run != null);
    if (refusal == null && run != null) {
      refusal = JoinChecks.disagreement(request, run);
    }
    if (refusal == null && run == null) {
      refusal = checks.shortage(jobs.size(), freeSlots);
    }
    if (refusal != null) {
      refuse(stream, request, refusal);
      return null;
    }
    return admit(run == null ? open(request, key) : run, request.getRank(), stream);
  }

  /** The key that the switch knows, or on an open switch the one that the worker brings. */
  private JobKey keyOf(JoinRequest request, JoinProof proof) {
    if (!config.secrets().isOpen()) {
      return config.secrets().keyOf(request.getJob());
    }
    return proof.getKey().size() == JobKey.BYTES ? JobKey.of(proof.getKey().toByteArray()) : null;
  }

  private JobRun admit(JobRun run, int rank, MemberStream stream) {
    pending.decided(stream);
    run.join(rank, stream);
    stream.tell(SwitchMessage.newBuilder().setAdmitted(admitted(run)).build());
    tellWaiting(run);
    return run;
  }

  private void refuse(MemberStream stream, JoinRequest request, Refused refusal) {
    log(
        "refused, " + refusal.getReason(),
        "refused rank {} of job '{}' from {}: {}",
        request.getRank(),
        LogLimit.oneLine(request.getJob()),
        stream.peer(),
        LogLimit.oneLine(refusal.getText()));
    tellRefused(stream, refusal);
  }

  private void refuse(MemberStream stream, Refused refusal) {
    log(
        "refused, " + refusal.getReason(),
        "refused a control stream from {}: {}",
        stream.peer(),
        refusal.getText());
    tellRefused(stream, refusal);
  }

  /** Makes room: the stream is gone for us now, whenever its connection notices. */
  private void putOut(MemberStream stream, Refused refusal) {
    refuse(stream, refusal);
    pending.ended(stream);
  }

  private void tellRefused(MemberStream stream, Refused refusal) {
    pending.decided(stream);
    stream.tell(SwitchMessage.newBuilder().setRefused(refusal).build());
    stream.close();
  }

  private void log(String reason, String format, Object... arguments) {
    String suffix = logLimit.admit(reason, nowNs);
    if (suffix != null) {
      LOG.info(format + suffix, arguments);
    }
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
      log(
          "run started",
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
    log(
        "operations differ",
        "job '{}': rank {} calls {}, rank {} calls {}",
        run.job,
        rankA,
        valueA,
        rankB,
        valueB);
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

  /** Control streams that are open. */
  int streams() {
    return pending.streams();
  }

  /** Control streams that have not proved yet that they know their job's secret. */
  int pendingJoins() {
    return pending.pending();
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
    log("rank lost", "job '{}': rank {} lost: {}", run.job, rank, LogLimit.oneLine(reason));
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

  private JobRun open(JoinRequest request, JobKey key) {
    int elements = elementsOf(request);
    int slots = grant(request, elements);
    int number = nextRun++;
    long cookie = random.nextLong();
    SipHash authentication = request.getAuthenticate() ? key.runKey(number, cookie) : null;
    RunSpec spec =
        new RunSpec(
            freeJobNumber(),
            number,
            cookie,
            request.getWorldSize(),
            slots,
            elements,
            request.getReleasePolicy() == dev.sumac.protocol.control.ReleasePolicy.ACKNOWLEDGED
                ? ReleasePolicy.ACKNOWLEDGED
                : ReleasePolicy.TWO_VERSION,
            firstChunk,
            authentication);
    JobRun run = new JobRun(spec, request, key, config.shards());
    jobs.put(request.getJob(), run);
    runs.put(spec.run(), run);
    freeSlots -= slots;
    dataPlane.install(spec);
    return run;
  }

  /**
   * As asked for, or the switch's own number; packets with an authentication tag are not to be
   * longer than those without, so they have two elements less then.
   */
  private int elementsOf(JoinRequest request) {
    if (request.getElementsPerPacket() != 0) {
      return request.getElementsPerPacket();
    }
    return request.getAuthenticate()
        ? Math.max(
            SwitchConfig.MIN_ELEMENTS_PER_PACKET,
            config.elementsPerPacket() - AggregationHeader.AUTHENTICATION_BYTES / Integer.BYTES)
        : config.elementsPerPacket();
  }

  /**
   * As many slots as are asked for, are free, and let every rank's window into the receive buffer
   * at once.
   */
  private int grant(JoinRequest request, int elements) {
    long windowBytes =
        (long) request.getWorldSize()
            * AggregationHeader.packetBytes(elements, request.getAuthenticate());
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
}
