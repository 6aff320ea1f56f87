package dev.sumac.worker;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.SipHash;
import dev.sumac.reliability.ContributionBitmap;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.reliability.RttEstimator;
import dev.sumac.transport.TlsFiles;
import dev.sumac.transport.UdpConfig;
import java.time.Duration;
import java.util.Locale;

/**
 * How a rank takes part in a job. Immutable; {@link #builder()} validates once, with range and
 * option in each message.
 *
 * @param switchHost where the switch is
 * @param switchPort TCP port of its control channel
 * @param job name of the job; the ranks of one name work together
 * @param rank this worker's number, 0 to {@code worldSize - 1}
 * @param worldSize number of ranks
 * @param token secret of the job, or empty; the same at all ranks
 * @param timeoutNs time limit of joining and of each operation
 * @param window chunks in flight on each shard that this job would like; the switch may grant fewer
 * @param elementsPerPacket elements a packet, or 0 for the switch's own number
 * @param releasePolicy when the switch may overwrite a result
 * @param authenticate whether every data packet carries an authentication tag; the same at all
 *     ranks
 * @param tls certificates of the control channel, or none
 * @param minRtoNs floor of the retransmission timeout
 * @param receiveBufferBytes SO_RCVBUF of the worker's socket
 * @param io which of Netty's transports
 * @param faults faults to make on arriving packets, for tests
 */
public record CommunicatorConfig(
    String switchHost,
    int switchPort,
    String job,
    int rank,
    int worldSize,
    String token,
    long timeoutNs,
    int window,
    int elementsPerPacket,
    ReleasePolicy releasePolicy,
    boolean authenticate,
    TlsFiles tls,
    long minRtoNs,
    int receiveBufferBytes,
    UdpConfig.Io io,
    FaultSpec faults) {
  public static final int DEFAULT_WINDOW = 512;
  public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

  private static final int MAX_WINDOW = 1 << 20;

  public CommunicatorConfig {
    require(!switchHost.isEmpty(), "--switch", switchHost, "HOST:PORT");
    require(switchPort >= 1 && switchPort <= 65_535, "--switch", switchPort, "port 1 to 65535");
    require(!job.isEmpty() && job.length() <= 128, "--job", job, "1 to 128 characters");
    require(
        worldSize >= 1 && worldSize <= ContributionBitmap.MAX_RANKS,
        "--world",
        worldSize,
        "1 to " + ContributionBitmap.MAX_RANKS);
    require(rank >= 0 && rank < worldSize, "--rank", rank, "0 to " + (worldSize - 1));
    require(timeoutNs >= 1, "--timeout", timeoutNs + " ns", "more than 0");
    require(window >= 1 && window <= MAX_WINDOW, "--window", window, "1 to " + MAX_WINDOW);
    require(
        elementsPerPacket == 0
            || (elementsPerPacket >= 2 && elementsPerPacket <= AggregationHeader.MAX_ELEMENTS),
        "--elements-per-packet",
        elementsPerPacket,
        "2 to " + AggregationHeader.MAX_ELEMENTS + ", or 0 for the switch's own number");
    require(
        !authenticate || elementsPerPacket <= AggregationHeader.MAX_AUTHENTICATED_ELEMENTS,
        "--elements-per-packet",
        elementsPerPacket,
        "2 to " + AggregationHeader.MAX_AUTHENTICATED_ELEMENTS + " with --authenticate");
    require(
        minRtoNs >= 1 && minRtoNs <= RttEstimator.DEFAULT_MAX_RTO_NS,
        "--min-rto",
        minRtoNs + " ns",
        "1 to " + RttEstimator.DEFAULT_MAX_RTO_NS);
  }

  /** The key of this rank's job. */
  JobKey jobKey() {
    return JobKey.derive(token, job);
  }

  /** What authenticates the packets of a run, or null. */
  SipHash runKey(int run, long cookie) {
    return authenticate ? jobKey().runKey(run, cookie) : null;
  }

  public static Builder builder() {
    return new Builder();
  }

  private static void require(boolean holds, String option, Object value, String range) {
    if (!holds) {
      throw new IllegalArgumentException(
          String.format(Locale.ROOT, "%s %s (%s)", option, value, range));
    }
  }

  /** Collects the values; what is not set has the default. Not thread-safe. */
  public static final class Builder {
    private String switchHost = "127.0.0.1";
    private int switchPort = 5170;
    private String job = "default";
    private int rank;
    private int worldSize = 1;
    private String token = "";
    private long timeoutNs = DEFAULT_TIMEOUT.toNanos();
    private int window = DEFAULT_WINDOW;
    private int elementsPerPacket;
    private ReleasePolicy releasePolicy = ReleasePolicy.TWO_VERSION;
    private boolean authenticate;
    private TlsFiles tls = TlsFiles.NONE;
    private long minRtoNs = RttEstimator.DEFAULT_MIN_RTO_NS;
    private int receiveBufferBytes = UdpConfig.DEFAULT_BUFFER_BYTES;
    private UdpConfig.Io io = UdpConfig.Io.BEST;
    private FaultSpec faults = FaultSpec.NONE;

    private Builder() {}

    /** Where the switch is: host name or address, and the TCP port of its control channel. */
    public Builder switchAddress(String host, int port) {
      switchHost = host;
      switchPort = port;
      return this;
    }

    public Builder job(String value) {
      job = value;
      return this;
    }

    public Builder rank(int value) {
      rank = value;
      return this;
    }

    public Builder worldSize(int value) {
      worldSize = value;
      return this;
    }

    public Builder token(String value) {
      token = value;
      return this;
    }

    public Builder timeout(Duration value) {
      timeoutNs = value.toNanos();
      return this;
    }

    public Builder window(int value) {
      window = value;
      return this;
    }

    public Builder elementsPerPacket(int value) {
      elementsPerPacket = value;
      return this;
    }

    public Builder releasePolicy(ReleasePolicy value) {
      releasePolicy = value;
      return this;
    }

    public Builder authenticate(boolean value) {
      authenticate = value;
      return this;
    }

    public Builder tls(TlsFiles value) {
      tls = value;
      return this;
    }

    public Builder minRto(Duration value) {
      minRtoNs = value.toNanos();
      return this;
    }

    public Builder receiveBufferBytes(int value) {
      receiveBufferBytes = value;
      return this;
    }

    public Builder io(UdpConfig.Io value) {
      io = value;
      return this;
    }

    public Builder faults(FaultSpec value) {
      faults = value;
      return this;
    }

    /**
     * Validates.
     *
     * @throws IllegalArgumentException with one line that names the option, its value and its range
     */
    public CommunicatorConfig build() {
      return new CommunicatorConfig(
          switchHost,
          switchPort,
          job,
          rank,
          worldSize,
          token,
          timeoutNs,
          window,
          elementsPerPacket,
          releasePolicy,
          authenticate,
          tls,
          minRtoNs,
          receiveBufferBytes,
          io,
          faults);
    }
  }
}
