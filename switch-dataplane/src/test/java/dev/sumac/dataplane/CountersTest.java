package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One thread adds, others read: they see every value in the end and none that goes back. */
@Timeout(60)
final class CountersTest {
  private static final int INCREMENTS = 2_000_000;

  @Test
  void readersSeeCountersGrowAndReachTheEnd() throws Exception {
    Counters counters = new Counters();
    AtomicReference<String> failure = new AtomicReference<>();
    Thread[] readers = new Thread[7];
    for (int i = 0; i < readers.length; i++) {
      readers[i] =
          new Thread(
              () -> {
                long first = 0;
                while (first < INCREMENTS) {
                  // The second is incremented after the first, so it must not be seen before it.
                  long second = counters.get(Counter.CHUNKS_COMPLETED);
                  long now = counters.get(Counter.CONTRIBUTIONS);
                  if (now < first || now < second) {
                    failure.set(now + " after " + first + ", beside " + second);
                    return;
                  }
                  first = now;
                }
              });
      readers[i].start();
    }
    for (int i = 0; i < INCREMENTS; i++) {
      counters.increment(Counter.CONTRIBUTIONS);
      counters.increment(Counter.CHUNKS_COMPLETED);
    }
    for (Thread reader : readers) {
      reader.join(30_000);
      assertFalse(reader.isAlive(), "a reader never saw the end");
    }
    assertTrue(failure.get() == null, failure.get());
    assertEquals(INCREMENTS, counters.get(Counter.CONTRIBUTIONS));
  }
}
