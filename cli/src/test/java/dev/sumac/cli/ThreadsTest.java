package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.protocol.OperationKind;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorClosedException;
import dev.sumac.worker.RankLostException;
import dev.sumac.worker.ReleasePolicy;
import dev.sumac.worker.SumacException;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Several threads on one communicator; several communicators in one thread. */
@Timeout(120)
final class ThreadsTest {
  private static final int THREADS = 8;
  private static final int CALLS = Integer.getInteger("sumac.cases.calls", 150);
  private static final int RACES = Integer.getInteger("sumac.cases.races", 12);

  /**
   * Each call takes its number and starts under one lock, so that the order is the same at both
   * ranks.
   */
  @Test
  @Tag("case-13")
  void eightThreadsOfEachRankGetExactSums() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      job.run(
          communicator -> {
            AtomicInteger turn = new AtomicInteger();
            inThreads(
                thread -> {
                  for (int call = 0; call < CALLS; call++) {
                    int mine;
                    int[] values;
                    CompletableFuture<Void> done;
                    synchronized (turn) {
                      mine = turn.getAndIncrement();
                      values = new int[(mine * 31) % 1_500];
                      Arrays.fill(values, mine + communicator.rank());
                      done = communicator.allReduceAsync(values, values, OperationKind.SUM);
                    }
                    done.join();
                    int[] expected = new int[values.length];
                    Arrays.fill(expected, 2 * mine + 1);
                    assertArrayEquals(expected, values);
                  }
                });
            assertEquals((long) THREADS * CALLS, communicator.stats().operations());
            assertEquals((long) THREADS * CALLS, communicator.latencyNs().getTotalCount());
            return null;
          });
    }
  }

  @Test
  @Tag("case-13")
  void eightThreadsThatDoNotTakeTurnsAreExactToo() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      job.run(
          communicator -> {
            inThreads(
                thread -> {
                  for (int call = 0; call < CALLS; call++) {
                    int[] values = new int[(call * 97) % 1_200 + 1];
                    Arrays.fill(values, thread);
                    communicator.allReduce(values);
                    assertEquals(thread, values[values.length - 1]);
                  }
                });
            return null;
          });
    }
  }

  /** Whatever races with the end, no call hangs and no future stays open. */
  @ParameterizedTest
  @EnumSource(ReleasePolicy.class)
  @Tag("case-13")
  void closingWhileThreadsCallLeavesNoFutureOpen(ReleasePolicy policy) throws Exception {
    try (LocalJob job =
        new LocalJob(1, options -> options, options -> options.releasePolicy(policy))) {
      for (int race = 0; race < RACES; race++) {
        Communicator communicator = Communicator.open(job.config(0).build());
        ConcurrentLinkedQueue<CompletableFuture<Void>> futures = new ConcurrentLinkedQueue<>();
        int calls = 20 + 13 * race;
        CountDownLatch half = new CountDownLatch(calls / 2);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
          threads.add(
              start(
                  () -> {
                    try {
                      for (int call = 0; call < calls; call++) {
                        int[] values = new int[call];
                        futures.add(communicator.allReduceAsync(values, values, OperationKind.SUM));
                        half.countDown();
                      }
                    } catch (CommunicatorClosedException e) {
                      // A call after the close: refused at once.
                      half.countDown();
                    }
                  }));
        }
        half.await();
        long startNs = System.nanoTime();
        communicator.close();
        long tookMs = (System.nanoTime() - startNs) / 1_000_000;
        assertTrue(tookMs < 1_500, "close took " + tookMs + " ms");
        for (Thread thread : threads) {
          thread.join(1_000);
          assertFalse(thread.isAlive(), () -> "stuck: " + Arrays.toString(thread.getStackTrace()));
        }
        for (CompletableFuture<Void> future : futures) {
          try {
            future.get(1, TimeUnit.SECONDS);
          } catch (ExecutionException e) {
            assertInstanceOf(SumacException.class, rootOf(e));
          } catch (TimeoutException e) {
            throw new AssertionError("a future stayed open in race " + race, e);
          }
        }
      }
    }
  }

  /** Another rank goes, the switch's word races with calls: every one ends with the same error. */
  @Test
  @Tag("case-13")
  void aLostRankEndsTheCallsOfAllThreads() throws Exception {
    try (LocalJob job = new LocalJob(2)) {
      for (int race = 0; race < RACES; race++) {
        int calls = 5 + 3 * race;
        List<Object> outcomes =
            job.outcomes(
                communicator -> {
                  if (communicator.rank() == 1) {
                    for (int call = 0; call < calls; call++) {
                      communicator.allReduce(new int[10]);
                    }
                    return "left";
                  }
                  ConcurrentLinkedQueue<String> ends = new ConcurrentLinkedQueue<>();
                  inThreads(
                      thread -> {
                        try {
                          for (int call = 0; call < 1_000_000; call++) {
                            communicator.allReduce(new int[10]);
                          }
                        } catch (RankLostException e) {
                          ends.add(e.getMessage());
                        }
                      });
                  assertEquals(THREADS, ends.size());
                  assertEquals(1, ends.stream().distinct().count(), ends.toString());
                  return "all told";
                });
        assertEquals(List.of("all told", "left"), outcomes);
      }
    }
  }

  /** A histogram is a copy: it stands still while operations go on. */
  @Test
  void copiesOfTheLatencyHistogramAreWholeWhileOperationsGoOn() throws Exception {
    try (LocalJob job = new LocalJob(1)) {
      job.run(
          communicator -> {
            Thread reader =
                start(
                    () -> {
                      long last = 0;
                      while (last < 500) {
                        Histogram copy = communicator.latencyNs();
                        long count = copy.getTotalCount();
                        assertTrue(count >= last, count + " after " + last);
                        assertTrue(communicator.stats().operations() >= count);
                        last = count;
                      }
                    });
            for (int call = 0; call < 500; call++) {
              communicator.allReduce(new int[1]);
            }
            reader.join(20_000);
            assertFalse(reader.isAlive());
            return null;
          });
    }
  }

  @Test
  @Tag("case-14")
  void asynchronousCallsInTwoGroupsFinishInOppositeOrders() throws Exception {
    try (LocalJob job =
        new LocalJob(2, options -> options.slots(2), options -> options.window(1))) {
      List<Future<int[]>> ranks =
          job.start(
              rank -> {
                try (Communicator first = Communicator.open(job.config(rank).job("1").build());
                    Communicator second = Communicator.open(job.config(rank).job("2").build())) {
                  List<Communicator> order =
                      rank == 0 ? List.of(first, second) : List.of(second, first);
                  int[] values = new int[1_000];
                  int[] others = new int[1_000];
                  Arrays.fill(values, rank + 1);
                  Arrays.fill(others, 10);
                  CompletableFuture<Void> a =
                      order
                          .get(0)
                          .allReduceAsync(
                              rank == 0 ? values : others,
                              rank == 0 ? values : others,
                              OperationKind.SUM);
                  CompletableFuture<Void> b =
                      order
                          .get(1)
                          .allReduceAsync(
                              rank == 0 ? others : values,
                              rank == 0 ? others : values,
                              OperationKind.SUM);
                  CompletableFuture.allOf(a, b).join();
                  return new int[] {values[999], others[999]};
                }
              });
      for (int[] sums : LocalJob.results(ranks)) {
        assertArrayEquals(new int[] {3, 20}, sums);
      }
    }
  }

  @Test
  @Tag("case-14")
  void blockingCallsInTwoGroupsInOppositeOrdersTimeOutInWordsAndFreeTheirSlots() throws Exception {
    try (LocalJob job =
        new LocalJob(2, options -> options.slots(2), options -> options.window(1))) {
      CountDownLatch both = new CountDownLatch(2);
      CountDownLatch ended = new CountDownLatch(2);
      List<Future<SumacException>> ranks =
          job.start(
              rank -> {
                try (Communicator first = Communicator.open(job.config(rank).job("1").build());
                    Communicator second = Communicator.open(job.config(rank).job("2").build())) {
                  both.countDown();
                  both.await();
                  Communicator mine = rank == 0 ? first : second;
                  IntBuffer nine = IntBuffer.allocate(9);
                  try {
                    mine.allReduce(nine, nine, OperationKind.SUM, Duration.ofMillis(600));
                    return null;
                  } catch (SumacException e) {
                    // Neither leaves before the other has waited for its whole limit.
                    ended.countDown();
                    ended.await();
                    return e;
                  }
                }
              });
      for (SumacException failure : LocalJob.results(ranks)) {
        // Its own limit, or the other rank's word that it gave up.
        assertTrue(
            failure.getMessage().contains("operation 0 has 0 of 1 chunks"), failure.toString());
      }
      slotsComeBack(job, 2);
    }
  }

  private static void slotsComeBack(LocalJob job, int slots) throws Exception {
    HostPort address = new HostPort("127.0.0.1", job.aggregationSwitch().port());
    Conditions.await(slots + " slots free", () -> SwitchStatus.of(address).getSlotsFree() == slots);
  }

  private interface ThreadBody {
    void run(int thread) throws Exception;
  }

  private static void inThreads(ThreadBody body) {
    ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int thread = i;
      threads.add(
          start(
              () -> {
                try {
                  body.run(thread);
                } catch (Throwable e) {
                  failures.add(e);
                }
              }));
    }
    try {
      for (Thread thread : threads) {
        thread.join(60_000);
        assertFalse(thread.isAlive(), () -> "stuck: " + Arrays.toString(thread.getStackTrace()));
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    for (Throwable failure : failures) {
      throw new AssertionError("a thread failed", failure);
    }
  }

  private static Thread start(Runnable body) {
    Thread thread = new Thread(body, "caller");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static Throwable rootOf(Throwable e) {
    return e.getCause() == null || e instanceof SumacException ? e : rootOf(e.getCause());
  }
}
