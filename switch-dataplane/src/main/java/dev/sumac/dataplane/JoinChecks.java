package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Refused;
import java.util.Locale;

/**
 * Why a join is refused: each refusal names what, both values and the option. Stateless but for the
 * configuration; used on the control thread only.
 */
final class JoinChecks {
  static final int MAX_JOB_NAME = 128;
  static final int NONCE_BYTES = 32;

  private final SwitchConfig config;

  JoinChecks(SwitchConfig config) {
    this.config = config;
  }

  /** What is wrong with the request by itself, or null. */
  Refused ofRequest(JoinRequest request) {
    if (request.getProtocolVersion() != AggregationHeader.VERSION) {
      return refused(
          Refused.Reason.PROTOCOL_VERSION,
          "protocol version %d here, %d at the worker: use one release on both",
          AggregationHeader.VERSION,
          request.getProtocolVersion());
    }
    if (request.getJob().isEmpty() || request.getJob().length() > MAX_JOB_NAME) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "job name of %d characters (1 to %d): option --job",
          request.getJob().length(),
          MAX_JOB_NAME);
    }
    if (request.getJob().chars().anyMatch(Character::isISOControl)) {
      return refused(
          Refused.Reason.BAD_REQUEST, "a control character in the job's name: option --job");
    }
    if (!config.secrets().allows(request.getJob())) {
      return refused(
          Refused.Reason.WRONG_TOKEN,
          "job '%s' is not in the switch's option --secrets: option --job",
          request.getJob());
    }
    return sizeRefusal(request);
  }

  private Refused sizeRefusal(JoinRequest request) {
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
    if (request.getAuthenticate()
        && request.getElementsPerPacket() > AggregationHeader.MAX_AUTHENTICATED_ELEMENTS) {
      return refused(
          Refused.Reason.BAD_REQUEST,
          "%d elements a packet (2 to %d with --authenticate): option --elements-per-packet",
          request.getElementsPerPacket(),
          AggregationHeader.MAX_AUTHENTICATED_ELEMENTS);
    }
    return null;
  }

  /**
   * Whether the proof shows that the worker knows the key, or null.
   *
   * @param key the job's key, or null when the worker should have brought it and did not
   * @param hasRun whether the key is that of ranks that joined before
   */
  Refused ofProof(JobKey key, PendingJoins.Pending join, JoinProof proof, boolean hasRun) {
    if (key == null) {
      return refused(Refused.Reason.BAD_REQUEST, "the first rank's proof has no key of the job");
    }
    if (key.accepts(proof.getTag().toByteArray(), join.nonce, join.request.toByteArray())) {
      return null;
    }
    return refused(
        Refused.Reason.WRONG_TOKEN,
        "the worker's token is not %s: option --token",
        hasRun && config.secrets().isOpen()
            ? "the token of the ranks that joined before"
            : config.secrets().nameFor(join.request.getJob()));
  }

  /** Where the request and the ranks that joined before disagree, or null. */
  static Refused disagreement(JoinRequest request, JobRun run) {
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
    } else if (request.getAuthenticate() != first.getAuthenticate()) {
      option = "packet authentication: option --authenticate";
      mine = onOff(request.getAuthenticate());
      theirs = onOff(first.getAuthenticate());
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

  /** Why no further job can run, or null. */
  Refused shortage(int jobs, int freeSlots) {
    if (jobs >= config.maxJobs()) {
      return refused(
          Refused.Reason.NO_RESOURCES,
          "%d jobs are running, no more are allowed: the switch's option --max-jobs",
          jobs);
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

  Refused tooManyStreams() {
    return refused(
        Refused.Reason.NO_RESOURCES,
        "%d control streams are open, no more are allowed: the switch's option --max-streams",
        config.maxStreams());
  }

  Refused tooManyPending() {
    return refused(
        Refused.Reason.NO_RESOURCES,
        "%d later joins had not proved their token either, no more are kept: the switch's option"
            + " --max-pending-joins",
        config.maxPendingJoins());
  }

  private static String onOff(boolean on) {
    return on ? "on" : "off";
  }

  static Refused refused(Refused.Reason reason, String format, Object... arguments) {
    return Refused.newBuilder()
        .setReason(reason)
        .setText(String.format(Locale.ROOT, format, arguments))
        .build();
  }
}
