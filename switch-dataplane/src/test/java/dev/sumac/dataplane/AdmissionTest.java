package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.SwitchMessage.MessageCase;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Admission without sockets and threads. */
final class AdmissionTest {
  private static final int SHARDS = 2;

  private final List<RunSpec> installed = new ArrayList<>();
  private Admission admission = admission(SwitchConfig.builder());

  @Test
  void aRunStartsWhenEveryRankIsProvedOnEveryShard() {
    Stream zero = new Stream();
    Stream one = new Stream();
    JobRun run = admission.join(request(0).build(), zero);
    admission.join(request(1).build(), one);
    int number = run.spec.run();
    admission.proved(number, 0);
    admission.proved(number, 1);
    admission.proved(number, 0);
    assertEquals(List.of(1), zero.last().getWaiting().getMissingRanksList());
    admission.proved(number, 1);
    assertEquals(MessageCase.STARTED, zero.last().getMessageCase());
    assertEquals(MessageCase.STARTED, one.last().getMessageCase());
  }

  @Test
  void whoWaitsIsToldWhoIsMissing() {
    Stream two = new Stream();
    admission.join(request(2).setWorldSize(4).build(), two);
    assertEquals(List.of(0, 1, 2, 3), two.last().getWaiting().getMissingRanksList());
  }

  @Test
  void everyRefusalNamesBothValuesAndTheOption() {
    admission = admission(SwitchConfig.builder().elementsPerPacket(64));
    Stream first = new Stream();
    admission.join(request(0).setElementsPerPacket(64).build(), first);
    int told = first.messages.size();
    refused(request(1).setProtocolVersion(9), "9", "1", "release");
    refused(request(1).setJob(""), "0 characters", "--job");
    refused(request(1).setWorldSize(0), "0", "1024", "--world");
    refused(request(1).setWorldSize(1_025), "1025", "1024", "--world");
    refused(request(2), "rank 2", "0 to 1", "--rank");
    refused(request(1).setRank(-1), "rank -1", "--rank");
    refused(request(1).setWindow(0), "0", "--window");
    refused(request(1).setElementsPerPacket(256), "256", "64", "--elements-per-packet");
    refused(request(1).setElementsPerPacket(32), "32", "64", "--elements-per-packet");
    refused(request(1).setElementsPerPacket(64).setWindow(9), "9", "512", "--window");
    refused(request(1).setElementsPerPacket(64).setWorldSize(3), "3", "2", "--world");
    refused(
        request(1)
            .setElementsPerPacket(64)
            .setReleasePolicy(dev.sumac.protocol.control.ReleasePolicy.ACKNOWLEDGED),
        "ACKNOWLEDGED",
        "TWO_VERSION",
        "--release");
    refused(request(1).setElementsPerPacket(64).setToken(ByteString.copyFromUtf8("x")), "--token");
    refused(request(0).setElementsPerPacket(64), "rank 0", "taken", "peer", "--rank");
    assertEquals(told, first.messages.size(), "nobody else was told anything");
    assertNotNull(admission.join(request(1).setElementsPerPacket(64).build(), new Stream()));
  }

  @Test
  void aSwitchWithATokenDemandsIt() {
    admission = admission(SwitchConfig.builder().token("secret"));
    refused(request(0), "--token");
    assertNotNull(
        admission.join(
            request(0).setToken(ByteString.copyFromUtf8("secret")).build(), new Stream()));
  }

  /** Case 37. */
  @Test
  void aThousandRefusedJoinsLeaveNothing() {
    JobRun run = admission.join(request(0).build(), new Stream());
    int free = admission.freeSlots();
    for (int i = 0; i < 1_000; i++) {
      refused(request(1).setToken(ByteString.copyFromUtf8("bad")), "--token");
    }
    assertEquals(free, admission.freeSlots());
    assertEquals(1, admission.status().size());
    assertEquals(List.of(run.spec), installed);
  }

  @Test
  void slotsAreAPowerOfTwoThatIsAskedForFreeAndFitsTheReceiveBuffer() {
    admission = admission(SwitchConfig.builder().slots(100));
    assertEquals(64, slotsOf(request(0).setJob("a")), "of 512 asked and 100 free");
    assertEquals(32, slotsOf(request(0).setJob("b")), "of 36 free");
    assertEquals(4, slotsOf(request(0).setJob("c").setWindow(6)), "of 6 asked and 4 free");
    refused(request(0).setJob("d"), "100", "--slots");
    admission = admission(SwitchConfig.builder().slots(1 << 14));
    // 4 MiB hold 2,872 packets of 1,460 B: 1,024 for each of two ranks.
    assertEquals(1_024, slotsOf(request(0).setWindow(1 << 14)));
  }

  @Test
  void moreJobsThanAllowedAreRefused() {
    admission = admission(SwitchConfig.builder().maxJobs(1));
    assertNotNull(admission.join(request(0).build(), new Stream()));
    refused(request(0).setJob("second"), "1 jobs", "--max-jobs");
  }

  @Test
  void aLostRankIsNamedToTheOthersAndEverythingComesBack() {
    Stream zero = new Stream();
    JobRun run = started(zero, new Stream());
    int whileRunning = admission.freeSlots();
    admission.streamEnded(run, 1, "gone");
    assertEquals(1, zero.last().getRankLost().getRank());
    assertEquals("gone", zero.last().getRankLost().getReason());
    assertTrue(zero.closed);
    assertEquals(whileRunning, admission.freeSlots(), "until every shard has forgotten the run");
    admission.removed(run.spec.run());
    assertEquals(whileRunning, admission.freeSlots());
    admission.removed(run.spec.run());
    assertEquals(SwitchConfig.DEFAULT_SLOTS, admission.freeSlots());
    assertEquals(List.of(), installed);
    int told = zero.messages.size();
    admission.streamEnded(run, 0, "gone too");
    assertEquals(told, zero.messages.size(), "everybody is told once");
  }

  @Test
  void aRankThatGivesUpIsLostWithItsReason() {
    Stream zero = new Stream();
    JobRun run = started(zero, new Stream());
    admission.leave(run, 1, Leave.newBuilder().setFailure("its time limit passed").build());
    assertEquals("its time limit passed", zero.last().getRankLost().getReason());
  }

  @Test
  void aRankThatLeavesIsToldWithItsNextOperationAndTheLastOneEndsTheRun() {
    Stream zero = new Stream();
    Stream one = new Stream();
    JobRun run = started(zero, one);
    admission.leave(run, 1, Leave.newBuilder().setNextOperation(9).build());
    assertEquals(9, zero.last().getRankLeft().getNextOperation());
    assertEquals(1, zero.last().getRankLeft().getRank());
    admission.streamEnded(run, 1, "its stream ends, as it should");
    assertEquals(1, admission.status().size());
    admission.leave(run, 0, Leave.newBuilder().setNextOperation(9).build());
    assertEquals(0, admission.status().size());
    assertTrue(zero.closed && one.closed);
  }

  @Test
  void aMismatchEndsTheRunForAll() {
    Stream zero = new Stream();
    Stream one = new Stream();
    JobRun run = started(zero, one);
    admission.mismatch(run.spec.run(), 4, 0, "a", 1, "b");
    for (Stream stream : List.of(zero, one)) {
      assertEquals("a", stream.last().getMismatch().getValueA());
      assertEquals("b", stream.last().getMismatch().getValueB());
      assertTrue(stream.closed);
    }
    assertEquals(0, admission.status().size());
  }

  /** Cases 22 and 58. */
  @Test
  void theNextRunOfAJobHasAnotherNumberCookieAndTag() {
    JobRun first = started(new Stream(), new Stream());
    admission.streamEnded(first, 0, "gone");
    JobRun second = started(new Stream(), new Stream());
    assertNotEquals(first.spec.run(), second.spec.run());
    assertNotEquals(first.spec.cookie(), second.spec.cookie());
    assertNotEquals(first.spec.job(), second.spec.job());
  }

  private JobRun started(Stream zero, Stream one) {
    JobRun run = admission.join(request(0).build(), zero);
    admission.join(request(1).build(), one);
    for (int shard = 0; shard < SHARDS; shard++) {
      admission.proved(run.spec.run(), 0);
      admission.proved(run.spec.run(), 1);
    }
    assertEquals(JobRun.State.RUNNING, run.state());
    return run;
  }

  private int slotsOf(JoinRequest.Builder request) {
    Stream stream = new Stream();
    admission.join(request.build(), stream);
    return stream.messages.get(0).getAdmitted().getSlots();
  }

  private void refused(JoinRequest.Builder request, String... parts) {
    Stream stream = new Stream();
    assertNull(admission.join(request.build(), stream));
    String text = stream.last().getRefused().getText();
    for (String part : parts) {
      assertTrue(text.contains(part), text);
    }
    assertTrue(stream.closed);
  }

  private static JoinRequest.Builder request(int rank) {
    return JoinRequest.newBuilder()
        .setProtocolVersion(AggregationHeader.VERSION)
        .setJob("job")
        .setRank(rank)
        .setWorldSize(2)
        .setWindow(512)
        .setReleasePolicy(dev.sumac.protocol.control.ReleasePolicy.TWO_VERSION);
  }

  private Admission admission(SwitchConfig.Builder config) {
    installed.clear();
    return new Admission(
        config.shards(SHARDS).build(),
        4 << 20,
        1,
        List.of(1, 2),
        new SplittableRandom(1),
        new Admission.DataPlane() {
          @Override
          public void install(RunSpec run) {
            installed.add(run);
          }

          @Override
          public void remove(RunSpec run) {
            installed.remove(run);
          }
        });
  }

  /** Keeps what a rank is told. */
  private static final class Stream implements MemberStream {
    final List<SwitchMessage> messages = new ArrayList<>();
    boolean closed;

    @Override
    public void tell(SwitchMessage message) {
      messages.add(message);
    }

    @Override
    public void close() {
      closed = true;
    }

    @Override
    public void fail(String reason) {
      closed = true;
    }

    @Override
    public String peer() {
      return "peer";
    }

    SwitchMessage last() {
      return messages.get(messages.size() - 1);
    }
  }
}
