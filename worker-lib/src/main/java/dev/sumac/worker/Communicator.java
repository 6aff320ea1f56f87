package dev.sumac.worker;

import dev.sumac.protocol.OperationKind;
import dev.sumac.transport.UdpEndpoint;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * A rank's place in a job, through which it takes part in collective operations. Open one at every
 * rank, make the same calls in the same order at every rank, close it.
 *
 * <p>Thread-safe. Operations start in the order of the calls; when several threads call, it is up
 * to them that this order is the same at every rank. Several may be in flight. Until an operation
 * completes, its input must not change and its output must not be read.
 *
 * <p>Every blocking call returns within its time limit. A failure is final for the communicator:
 * the first one is thrown by all operations in flight and all later calls, at every rank, as the
 * subclass of {@link SumacException} that says what happened; outputs of failed operations are
 * undefined.
 *
 * <p>Promises on results, the same on all ranks and in every run, whatever the order of arrival:
 *
 * <ul>
 *   <li>{@code int}: exact; SUM wraps around.
 *   <li>{@code float} MIN and MAX: exact; -0.0 is less than +0.0; NaN if any rank has NaN.
 *   <li>{@code float} SUM: fixed point with an exponent for each packet. With n ranks, L =
 *       ceil(log2 n), and all values of the packet below 2^e in magnitude, the error is at most n/2
 *       x 2^(e + L - 30) plus half a unit in the last place. NaN if any rank has NaN or both
 *       infinities meet, else infinite if any rank's value is. In packets where that happens,
 *       finite sums keep fewer bits; docs/protocol.md, section 5.
 * </ul>
 */
public final class Communicator implements AutoCloseable {
  private static final long TAKEN_RETRY_NS = 50_000_000;

  private final CommunicatorConfig config;
  private volatile Connection connection;
  private volatile boolean closed;

  private Communicator(CommunicatorConfig config, Connection connection) {
    this.config = config;
    this.connection = connection;
  }

  /**
   * Joins the job and waits until every rank has. Returns within {@link
   * CommunicatorConfig#timeoutNs()}.
   *
   * @throws JoinException when the switch is not reached or refuses, or ranks are missing; it says
   *     which
   */
  public static Communicator open(CommunicatorConfig config) {
    return new Communicator(config, Connection.open(config));
  }

  /**
   * Largest error of one element of a float sum, apart from the rounding of the result to float32
   * (half a unit in its last place).
   *
   * @param worldSize number of ranks
   * @param largestMagnitude largest finite magnitude that any rank has in the packet
   */
  public static double sumErrorBound(int worldSize, float largestMagnitude) {
    return FixedPointCodec.errorBound(
        worldSize, FixedPointCodec.exponentOf(Float.floatToRawIntBits(largestMagnitude)));
  }

  public int rank() {
    return config.rank();
  }

  public int worldSize() {
    return config.worldSize();
  }

  /** Sums in place. */
  public void allReduce(float[] data) {
    allReduce(data, OperationKind.SUM);
  }

  /** Sums in place. */
  public void allReduce(int[] data) {
    allReduce(data, OperationKind.SUM);
  }

  /** Reduces in place. Any length, the same at every rank. */
  public void allReduce(float[] data, OperationKind kind) {
    allReduce(data, data, kind);
  }

  /** Reduces in place. Any length, the same at every rank. */
  public void allReduce(int[] data, OperationKind kind) {
    allReduce(data, data, kind);
  }

  /**
   * Reduces {@code input} over all ranks into {@code output}, element by element, and waits for it.
   *
   * @param output of the same length; may be {@code input} itself
   * @throws IllegalArgumentException when the lengths differ; nothing is sent then
   * @throws SumacException when the operation fails, at the latest after the time limit
   */
  public void allReduce(float[] input, float[] output, OperationKind kind) {
    await(start(floats(Operand.of(input), Operand.of(output), kind), config.timeoutNs()));
  }

  /** As {@link #allReduce(float[], float[], OperationKind)}. */
  public void allReduce(int[] input, int[] output, OperationKind kind) {
    await(start(ints(Operand.of(input), Operand.of(output), kind), config.timeoutNs()));
  }

  /**
   * As {@link #allReduce(float[], float[], OperationKind)} for the elements between position and
   * limit of each buffer, heap or direct; positions and limits stay as they are.
   *
   * @param output of the same length; the same memory as {@code input} or apart from it
   * @throws IllegalArgumentException when lengths differ, memory overlaps by a part, or {@code
   *     output} is read-only
   */
  public void allReduce(FloatBuffer input, FloatBuffer output, OperationKind kind) {
    allReduce(input, output, kind, Duration.ofNanos(config.timeoutNs()));
  }

  /** As {@link #allReduce(FloatBuffer, FloatBuffer, OperationKind)}. */
  public void allReduce(IntBuffer input, IntBuffer output, OperationKind kind) {
    allReduce(input, output, kind, Duration.ofNanos(config.timeoutNs()));
  }

  /**
   * As {@link #allReduce(FloatBuffer, FloatBuffer, OperationKind)} with a time limit of its own.
   */
  public void allReduce(
      FloatBuffer input, FloatBuffer output, OperationKind kind, Duration timeout) {
    await(start(floats(input, output, kind), timeout.toNanos()));
  }

  /** As {@link #allReduce(IntBuffer, IntBuffer, OperationKind)} with a time limit of its own. */
  public void allReduce(IntBuffer input, IntBuffer output, OperationKind kind, Duration timeout) {
    await(start(ints(input, output, kind), timeout.toNanos()));
  }

  /**
   * Starts an operation and returns at once.
   *
   * @return completes with null when {@code output} is there, or with a {@link SumacException}; its
   *     dependents run in the common pool
   */
  public CompletableFuture<Void> allReduceAsync(float[] input, float[] output, OperationKind kind) {
    return detached(start(floats(Operand.of(input), Operand.of(output), kind), config.timeoutNs()));
  }

  /** As {@link #allReduceAsync(float[], float[], OperationKind)}. */
  public CompletableFuture<Void> allReduceAsync(int[] input, int[] output, OperationKind kind) {
    return detached(start(ints(Operand.of(input), Operand.of(output), kind), config.timeoutNs()));
  }

  /** As {@link #allReduceAsync(float[], float[], OperationKind)}, for buffers. */
  public CompletableFuture<Void> allReduceAsync(
      FloatBuffer input, FloatBuffer output, OperationKind kind) {
    return detached(start(floats(input, output, kind), config.timeoutNs()));
  }

  /** As {@link #allReduceAsync(float[], float[], OperationKind)}, for buffers. */
  public CompletableFuture<Void> allReduceAsync(
      IntBuffer input, IntBuffer output, OperationKind kind) {
    return detached(start(ints(input, output, kind), config.timeoutNs()));
  }

  /** Chunks in flight on each shard that the switch granted. */
  public int window() {
    return connection.membership().run().slots();
  }

  /** Elements a packet that the switch granted. */
  public int elementsPerPacket() {
    return connection.membership().run().elementsPerPacket();
  }

  /** What has been counted so far. */
  public CommunicatorStats stats() {
    CompletableFuture<CommunicatorStats> answer = new CompletableFuture<>();
    UdpEndpoint endpoint = connection.endpoint();
    Engine engine = connection.membership().engine();
    if (!endpoint.execute(() -> answer.complete(engine.stats(endpoint.kernelDrops())))) {
      throw new CommunicatorClosedException("the communicator was closed");
    }
    return answer.join();
  }

  /** How long the operations that have completed took, ns; a copy. */
  public Histogram latencyNs() {
    return connection.membership().latencyNs();
  }

  /**
   * Goes on after a failure: gives up this rank's place in the run, if that is not over yet, and
   * takes part in the next run of the same job. Every rank does so, or a new process opens a
   * communicator in its place. Waits until all are there; within {@link
   * CommunicatorConfig#timeoutNs()} after the old run has ended. Operations in flight fail.
   * Statistics and latencies begin anew.
   *
   * @throws JoinException as {@link #open} does; the communicator stays failed, and this may be
   *     called again
   * @throws CommunicatorClosedException when the communicator is or gets closed
   */
  public void rejoin() {
    synchronized (this) {
      requireOpen();
      connection.leave();
      connection.close();
      connection = reopened();
    }
    if (closed) {
      connection.close();
      requireOpen();
    }
  }

  /**
   * Leaves the job. Operations in flight fail; the other ranks go on until they wait for this one
   * in an operation that it has not called. Harmless when called again.
   */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    synchronized (this) {
      try {
        connection.leave();
      } finally {
        connection.close();
      }
    }
  }

  /** The switch may not have noticed yet that this rank's old place is free. */
  private Connection reopened() {
    long deadlineNs = System.nanoTime() + config.timeoutNs();
    while (true) {
      try {
        return Connection.open(config);
      } catch (RankTakenException e) {
        if (closed || System.nanoTime() - deadlineNs >= 0) {
          throw e;
        }
        LockSupport.parkNanos(TAKEN_RETRY_NS);
      }
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new CommunicatorClosedException("the communicator was closed before this call");
    }
  }

  private ChunkCodec floats(FloatBuffer input, FloatBuffer output, OperationKind kind) {
    Operand.requireWritable(output);
    return floats(Operand.of(input), Operand.of(output), kind);
  }

  private ChunkCodec ints(IntBuffer input, IntBuffer output, OperationKind kind) {
    Operand.requireWritable(output);
    return ints(Operand.of(input), Operand.of(output), kind);
  }

  private ChunkCodec floats(Operand<float[]> input, Operand<float[]> output, OperationKind kind) {
    return ChunkCodec.floats(input, output, kind, config.worldSize());
  }

  private static ChunkCodec ints(Operand<int[]> input, Operand<int[]> output, OperationKind kind) {
    return ChunkCodec.ints(input, output, kind);
  }

  private Operation start(ChunkCodec codec, long timeoutNs) {
    requireOpen();
    Connection current = connection;
    Operation operation = current.membership().submit(codec, timeoutNs);
    if (!current.endpoint().wakeUp()) {
      operation
          .future()
          .completeExceptionally(new CommunicatorClosedException("the communicator was closed"));
    }
    return operation;
  }

  private static CompletableFuture<Void> detached(Operation operation) {
    // A dependent must not run on the endpoint's thread: it would hold up the packets.
    return operation.future().thenRunAsync(() -> {});
  }

  private void await(Operation operation) {
    // The engine ends the operation at its limit; this one is for the case that its thread does not
    // run.
    long guardNs = operation.timeoutNs() + operation.timeoutNs() / 10 + 50_000_000;
    try {
      operation.future().get(guardNs, TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw rethrown(e.getCause());
    } catch (TimeoutException e) {
      throw new OperationTimeoutException(
          "rank "
              + rank()
              + ": the endpoint's thread does not answer; is the processor overloaded?");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      SumacException interrupted =
          new SumacException("rank " + rank() + " was interrupted in an operation", e);
      Connection current = connection;
      current.endpoint().execute(() -> current.membership().engine().giveUp(interrupted));
      throw interrupted;
    }
  }

  private static RuntimeException rethrown(Throwable cause) {
    return cause instanceof SumacException failure
        ? failure
        : new SumacException("an operation failed: " + cause, cause);
  }
}
