package dev.sumac.transport;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What any thread may call, called by eight at once while a ninth closes. */
@Timeout(300)
final class EndpointThreadsTest {
  private static final int THREADS = 8;

  @ParameterizedTest
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void aTaskThatWasTakenRunsThoughTheEndpointCloses(UdpConfig.Io io) throws Exception {
    race(io, 100);
  }

  @ParameterizedTest
  @Tag("slow")
  @EnumSource(
      value = UdpConfig.Io.class,
      names = {"NIO", "EPOLL"})
  void aTaskThatWasTakenRunsThoughTheEndpointClosesManyTimes(UdpConfig.Io io) throws Exception {
    race(io, 1_000);
  }

  private static void race(UdpConfig.Io io, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      AtomicInteger turns = new AtomicInteger();
      UdpEndpoint endpoint =
          UdpEndpoint.open(
              UdpConfig.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "race")
                  .withIo(io),
              self -> new TurnCounter(turns));
      ConcurrentLinkedQueue<CountDownLatch> taken = new ConcurrentLinkedQueue<>();
      CountDownLatch begun = new CountDownLatch(THREADS);
      Thread[] callers = new Thread[THREADS];
      for (int thread = 0; thread < THREADS; thread++) {
        callers[thread] =
            new Thread(
                () -> {
                  CountDownLatch ran = new CountDownLatch(1);
                  while (endpoint.execute(ran::countDown)) {
                    taken.add(ran);
                    begun.countDown();
                    endpoint.wakeUp();
                    if (!ranInTime(ran)) {
                      return;
                    }
                    ran = new CountDownLatch(1);
                  }
                  begun.countDown();
                });
        callers[thread].setDaemon(true);
        callers[thread].start();
      }
      begun.await();
      endpoint.close();
      for (Thread caller : callers) {
        caller.join(5_000);
        assertFalse(caller.isAlive(), () -> "stuck: " + Arrays.toString(caller.getStackTrace()));
      }
      assertFalse(endpoint.wakeUp());
      assertFalse(endpoint.execute(() -> {}));
      for (CountDownLatch ran : taken) {
        assertTrue(ran.await(2, TimeUnit.SECONDS), "a task was taken and never ran, race " + i);
      }
      assertTrue(turns.get() >= taken.size(), turns + " turns for " + taken.size() + " tasks");
    }
  }

  private static boolean ranInTime(CountDownLatch ran) {
    try {
      return ran.await(2, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      return false;
    }
  }

  private record TurnCounter(AtomicInteger turns) implements DatagramListener {
    @Override
    public void onDatagram(
        DirectBuffer buffer, int offset, int lengthBytes, InetSocketAddress source, long nowNs) {}

    @Override
    public boolean onTurn(long nowNs) {
      turns.incrementAndGet();
      return false;
    }
  }
}
