package dev.sumac.dataplane;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.reliability.ContributionBitmap;
import dev.sumac.reliability.FaultSpec;
import dev.sumac.transport.TlsFiles;
import dev.sumac.transport.UdpConfig;
import java.net.InetAddress;

/**
 * What a switch is started with. Immutable; {@link #builder()} validates once, with range and
 * option in each message.
 *
 * @param bind local address of the control channel and of every shard
 * @param port TCP port of the control channel; shard {@code i} takes UDP port {@code port + i}; 0
 *     lets the kernel choose
 * @param shards shards, each with its own slots, UDP port and thread
 * @param slots slots of each shard
 * @param elementsPerPacket values that a slot has room for
 * @param secrets what jobs must prove to know
 * @param maxJobs most jobs at a time
 * @param maxStreams most control streams at a time
 * @param maxPendingJoins most joins that have not proved their secret
 * @param tls certificates of the control channel, or none
 * @param receiveBufferBytes SO_RCVBUF of each shard
 * @param io which of Netty's transports
 * @param faults faults to make on arriving packets, for tests
 */
public record SwitchConfig(
    InetAddress bind,
    int port,
    int shards,
    int slots,
    int elementsPerPacket,
    JobSecrets secrets,
    int maxJobs,
    int maxStreams,
    int maxPendingJoins,
    TlsFiles tls,
    int receiveBufferBytes,
    UdpConfig.Io io,
    FaultSpec faults) {
  /** TCP and first UDP port unless said otherwise. */
  public static final int DEFAULT_PORT = 5170;

  public static final int DEFAULT_SLOTS = 2_048;

  /** What fits an Ethernet frame of 1,500 B: 352 x 4 B and 80 B of headers. */
  public static final int DEFAULT_ELEMENTS_PER_PACKET = 352;

  /** An exponent packet tells of one chunk in two elements. */
  public static final int MIN_ELEMENTS_PER_PACKET = 2;

  public static final int DEFAULT_MAX_STREAMS = 4_096;
  public static final int DEFAULT_MAX_PENDING_JOINS = 1_024;
  public static final int MAX_STREAMS = 1 << 20;
  public static final int MAX_SHARDS = 64;
  public static final int MAX_SLOTS = 1 << 20;

  /** Most ranks of a job. */
  public static final int MAX_WORLD_SIZE = ContributionBitmap.MAX_RANKS;

  public SwitchConfig {
    requireRange("--port", port, 0, 65_535);
    requireRange("--shards", shards, 1, MAX_SHARDS);
    requireRange("--slots", slots, 1, MAX_SLOTS);
    requireRange(
        "--elements-per-packet",
        elementsPerPacket,
        MIN_ELEMENTS_PER_PACKET,
        AggregationHeader.MAX_ELEMENTS);
    requireRange("--max-jobs", maxJobs, 1, 65_535);
    requireRange("--max-streams", maxStreams, 1, MAX_STREAMS);
    requireRange("--max-pending-joins", maxPendingJoins, 1, MAX_STREAMS);
    requireRange("--receive-buffer", receiveBufferBytes, 65_536, 1 << 30);
    long values = (long) slots * SlotMemory.VERSIONS * elementsPerPacket;
    if (values > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          "--slots "
              + slots
              + " x --elements-per-packet "
              + elementsPerPacket
              + " x 2 versions are "
              + values
              + " values, more than a shard can hold (2147483639)");
    }
  }

  /** Bytes of slot memory of all shards. */
  public long slotBytes() {
    return shards * SlotMemory.bytes(slots, elementsPerPacket);
  }

  public static Builder builder() {
    return new Builder();
  }

  private static void requireRange(String option, int value, int low, int high) {
    if (value < low || value > high) {
      throw new IllegalArgumentException(option + " " + value + " (" + low + " to " + high + ")");
    }
  }

  /** Collects the values; what is not set has the default. Not thread-safe. */
  public static final class Builder {
    private InetAddress bind = InetAddress.getLoopbackAddress();
    private int port = DEFAULT_PORT;
    private int shards = 1;
    private int slots = DEFAULT_SLOTS;
    private int elementsPerPacket = DEFAULT_ELEMENTS_PER_PACKET;
    private JobSecrets secrets = JobSecrets.NONE;
    private int maxJobs = 64;
    private int maxStreams = DEFAULT_MAX_STREAMS;
    private int maxPendingJoins = DEFAULT_MAX_PENDING_JOINS;
    private TlsFiles tls = TlsFiles.NONE;
    private int receiveBufferBytes = UdpConfig.DEFAULT_BUFFER_BYTES;
    private UdpConfig.Io io = UdpConfig.Io.BEST;
    private FaultSpec faults = FaultSpec.NONE;

    private Builder() {}

    public Builder bind(InetAddress value) {
      bind = value;
      return this;
    }

    public Builder port(int value) {
      port = value;
      return this;
    }

    public Builder shards(int value) {
      shards = value;
      return this;
    }

    public Builder slots(int value) {
      slots = value;
      return this;
    }

    public Builder elementsPerPacket(int value) {
      elementsPerPacket = value;
      return this;
    }

    /** One secret that every job must prove to know; empty for none. */
    public Builder token(String value) {
      return secrets(JobSecrets.common(value));
    }

    public Builder secrets(JobSecrets value) {
      secrets = value;
      return this;
    }

    public Builder maxJobs(int value) {
      maxJobs = value;
      return this;
    }

    public Builder maxStreams(int value) {
      maxStreams = value;
      return this;
    }

    public Builder maxPendingJoins(int value) {
      maxPendingJoins = value;
      return this;
    }

    public Builder tls(TlsFiles value) {
      tls = value;
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
    public SwitchConfig build() {
      return new SwitchConfig(
          bind,
          port,
          shards,
          slots,
          elementsPerPacket,
          secrets,
          maxJobs,
          maxStreams,
          maxPendingJoins,
          tls,
          receiveBufferBytes,
          io,
          faults);
    }
  }
}
