package dev.sumac.cli;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Waiting for something to come true, with a limit. For tests. */
final class Conditions {
  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(30);

  /** What may throw, too. */
  interface Condition {
    boolean holds() throws Exception;
  }

  private Conditions() {}

  /** Returns when the condition holds; fails the test when it does not within 30 s. */
  static void await(String what, Condition condition) throws Exception {
    await(what, LIMIT_NS, condition);
  }

  static void await(String what, long limitNs, Condition condition) throws Exception {
    long deadlineNs = System.nanoTime() + limitNs;
    while (!condition.holds()) {
      if (System.nanoTime() > deadlineNs) {
        throw new AssertionError("never came true: " + what);
      }
      LockSupport.parkNanos(200_000);
    }
  }
}
