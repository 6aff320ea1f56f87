package dev.sumac.dataplane;

import dev.sumac.protocol.control.JobStatus;
import dev.sumac.transport.DatagramListener;
import dev.sumac.transport.PacketNetwork;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * A whole switch without threads, sockets and clock: its shards, its admission, and the hand-over
 * between them. {@link AggregationSwitch} puts sockets and threads around it, a simulator a virtual
 * network.
 *
 * <p>Each shard's listener is called on that shard's thread; {@link #openSession}, its sessions,
 * {@link #onTick}, {@link #stop} and the getters on the control thread; {@link #count} from any. A
 * shell with one thread for all is allowed.
 */
public final class SwitchCore {
  /** What the core asks of the process around it. May be called from any of the core's threads. */
  public interface Shell {
    /** Runs a task on the control thread, after those handed over before; not inside this call. */
    void onControl(Runnable task);

    /** Makes a turn of that shard soon. */
    void wakeShard(int shard);
  }

  private final SwitchConfig config;
  private final RandomGenerator random;
  private final Shell shell;
  private final List<Shard> shards = new ArrayList<>();
  private Admission admission;

  /**
   * @param random where secrets come from: cookies, challenges, the first run number; must not be
   *     guessed by anybody in production
   */
  public SwitchCore(SwitchConfig config, RandomGenerator random, Shell shell) {
    this.config = config;
    this.random = random;
    this.shell = shell;
  }

  /** Makes the next shard, which sends through that network; all shards before {@link #open}. */
  public DatagramListener addShard(PacketNetwork network) {
    Shard shard =
        new Shard(config.slots(), config.elementsPerPacket(), network, new Events(), random);
    shards.add(shard);
    return shard;
  }

  /**
   * Opens the doors: sessions may come from now on.
   *
   * @param boot number of this start of the switch
   * @param receiveBufferBytes what each shard's socket got
   * @param shardPorts UDP ports of the shards, in their order
   */
  public void open(long boot, int receiveBufferBytes, List<Integer> shardPorts) {
    admission =
        new Admission(
            config, receiveBufferBytes, boot, List.copyOf(shardPorts), new Shards(), random);
  }

  /**
   * Numbers the runs to come from here on. For tests that want to see counters pass their top; to
   * be called after {@link #open}.
   *
   * @param firstChunk number of each run's first chunk on each shard, 0 or more
   */
  public void startAt(int run, long firstChunk) {
    admission.startAt(run, firstChunk);
  }

  /** A worker has opened a control stream; it may have been refused when this returns. */
  public ControlSession openSession(MemberStream stream) {
    ControlSession session = new ControlSession(admission, stream);
    admission.opened(stream);
    return session;
  }

  /** About once a second. */
  public void onTick(long nowNs) {
    admission.onTick(nowNs);
  }

  /** Ends every run and tells its ranks. */
  public void stop() {
    admission.stop();
  }

  /** What a counter stands at, summed over shards. */
  public long count(Counter counter) {
    return shards.stream().mapToLong(shard -> shard.counters().get(counter)).sum();
  }

  /** Slots of each shard that no run has. */
  public int freeSlots() {
    return admission.freeSlots();
  }

  /** Control streams that are open. */
  public int streams() {
    return admission.streams();
  }

  /** Control streams that have not proved yet that they know their job's secret. */
  public int pendingJoins() {
    return admission.pendingJoins();
  }

  /** The runs that have not ended. */
  public List<JobStatus> status() {
    return admission.status();
  }

  /** Flow entries of all shards; only where all of the core is used on one thread. */
  public int flowEntries() {
    return shards.stream().mapToInt(Shard::flowEntries).sum();
  }

  /** Carries admission's commands to the shards. */
  private final class Shards implements Admission.DataPlane {
    @Override
    public void install(RunSpec run) {
      command(shard -> shard.install(run));
    }

    @Override
    public void remove(RunSpec run) {
      command(shard -> shard.remove(run));
    }

    private void command(Consumer<Shard> what) {
      for (int i = 0; i < shards.size(); i++) {
        Shard shard = shards.get(i);
        shard.submit(() -> what.accept(shard));
        shell.wakeShard(i);
      }
    }
  }

  /** Carries the shards' news to admission. */
  private final class Events implements RunEvents {
    @Override
    public void onProved(int run, int rank) {
      shell.onControl(() -> admission.proved(run, rank));
    }

    @Override
    public void onMismatch(
        int run, int operation, int rankA, String valueA, int rankB, String valueB) {
      shell.onControl(() -> admission.mismatch(run, operation, rankA, valueA, rankB, valueB));
    }

    @Override
    public void onRemoved(int run) {
      shell.onControl(() -> admission.removed(run));
    }
  }
}
