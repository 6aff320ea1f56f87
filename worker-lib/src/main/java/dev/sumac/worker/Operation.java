package dev.sumac.worker;

import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/**
 * One AllReduce on its way: its chunks, what is known of their exponents, and who waits for it.
 * Used on the engine's thread only, but for the future.
 */
final class Operation {
  private final ChunkCodec codec;
  private final int elementsPerChunk;
  private final int chunks;
  private final long timeoutNs;
  private final int[] exponents;
  private final CompletableFuture<Void> future = new CompletableFuture<>();

  private int number;
  private long startedNs;
  private int chunksLeft;

  Operation(ChunkCodec codec, int elementsPerChunk, long timeoutNs) {
    this.codec = codec;
    this.elementsPerChunk = elementsPerChunk;
    // An empty tensor is one empty chunk: ranks still meet, and still find out when they disagree.
    this.chunks =
        Math.max(1, (int) (((long) codec.length() + elementsPerChunk - 1) / elementsPerChunk));
    this.chunksLeft = chunks;
    this.timeoutNs = timeoutNs;
    if (codec.needsExponent() && codec.length() > 0) {
      this.exponents = new int[chunks];
      Arrays.fill(exponents, SharedExponent.UNKNOWN);
    } else {
      this.exponents = null;
    }
  }

  void start(int operationNumber, long nowNs) {
    number = operationNumber;
    startedNs = nowNs;
  }

  ChunkCodec codec() {
    return codec;
  }

  int number() {
    return number;
  }

  int chunks() {
    return chunks;
  }

  int chunksLeft() {
    return chunksLeft;
  }

  long startedNs() {
    return startedNs;
  }

  long timeoutNs() {
    return timeoutNs;
  }

  boolean isOverdue(long nowNs) {
    return nowNs - startedNs >= timeoutNs;
  }

  CompletableFuture<Void> future() {
    return future;
  }

  boolean needsExponents() {
    return exponents != null;
  }

  int elementsPerChunk() {
    return elementsPerChunk;
  }

  int firstElement(int chunk) {
    return chunk * elementsPerChunk;
  }

  int elementCount(int chunk) {
    return Math.min(elementsPerChunk, codec.length() - firstElement(chunk));
  }

  /** The ranks' common exponent of a chunk, or {@link SharedExponent#UNKNOWN}. */
  int sharedExponent(int chunk) {
    return exponents == null ? 0 : exponents[chunk];
  }

  void sharedExponent(int chunk, int packed) {
    exponents[chunk] = packed;
  }

  /** A chunk's result is in the output. True when it was the last. */
  boolean chunkDone() {
    return --chunksLeft == 0;
  }
}
