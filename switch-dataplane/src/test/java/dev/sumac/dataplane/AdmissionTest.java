package dev.sumac.dataplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.control.JoinChallenge;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.Leave;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.SwitchMessage.MessageCase;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** Admission without sockets and threads. */
final class AdmissionTest {
  private static final int SHARDS = 2;

  private final List<RunSpec> installed = new ArrayList<>();
  private String token = "";
  private Admission admission = admission(SwitchConfig.builder());

  @Test
  void aRunStartsWhenEveryRankIsProvedOnEveryShard() {
    Stream zero = new Stream();
    Stream one = new Stream();
    JobRun run = join(request(0).build(), zero);
    join(request(1).build(), one);
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
    join(request(2).setWorldSize(4).build(), two);
    assertEquals(List.of(0, 1, 2, 3), two.last().getWaiting().getMissingRanksList());
  }

  @Test
  void everyRefusalNamesBothValuesAndTheOption() {
    admission = admission(SwitchConfig.builder().elementsPerPacket(64));
    Stream first = new Stream();
    join(request(0).setElementsPerPacket(64).build(), first);
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
    refused(
        request(1).setElementsPerPacket(64).setAuthenticate(true), "on", "off", "--authenticate");
    token = "x";
    refused(request(1).setElementsPerPacket(64), "--token");
    token = "";
    refused(request(0).setElementsPerPacket(64), "rank 0", "taken", "peer", "--rank");
    assertEquals(told, first.messages.size(), "nobody else was told anything");
    assertNotNull(join(request(1).setElementsPerPacket(64).build(), new Stream()));
  }

  @Test
  void aSwitchWithATokenDemandsIt() {
    admission = admission(SwitchConfig.builder().token("secret"));
    refused(request(0), "--token");
    token = "secret";
    assertNotNull(join(request(0).build(), new Stream()));
  }

  /** Case 37. */
  @Test
  void aThousandRefusedJoinsLeaveNothing() {
    JobRun run = join(request(0).build(), new Stream());
    int free = admission.freeSlots();
    token = "bad";
    for (int i = 0; i < 1_000; i++) {
      refused(request(1), "--token");
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

  /** What a listener on the wire sees of a switch with secrets: no token, and no key. */
  @Test
  void aSwitchThatKnowsTheSecretNeverAsksForTheKey() {
    admission = admission(SwitchConfig.builder().token("secret"));
    token = "secret";
    Stream stream = new Stream();
    assertNotNull(join(request(0).build(), stream));
    assertFalse(stream.messages.get(0).getChallenge().getWantsKey());
    assertEquals(32, stream.messages.get(0).getChallenge().getNonce().size());
  }

  @Test
  void onAnOpenSwitchTheFirstRankBringsTheKeyAndTheOthersOnlyProveIt() {
    token = "brought along";
    Stream zero = new Stream();
    Stream one = new Stream();
    assertNotNull(join(request(0).build(), zero));
    assertNotNull(join(request(1).build(), one));
    assertTrue(zero.messages.get(0).getChallenge().getWantsKey());
    assertFalse(one.messages.get(0).getChallenge().getWantsKey());
  }

  @Test
  void aRecordedProofOpensNothingASecondTime() {
    admission = admission(SwitchConfig.builder().token("secret"));
    token = "secret";
    JoinRequest request = request(0).build();
    Stream honest = new Stream();
    admission.opened(honest);
    admission.join(request, honest);
    JoinProof recorded = proof(request, honest);
    Stream replaying = new Stream();
    admission.opened(replaying);
    admission.join(request, replaying);
    assertNull(admission.prove(recorded, replaying));
    assertTrue(replaying.last().getRefused().getText().contains("--token"));
    assertNotNull(admission.prove(recorded, honest));
  }

  @Test
  void aProofIsOfOneRequestOnly() {
    admission = admission(SwitchConfig.builder().token("secret"));
    token = "secret";
    Stream stream = new Stream();
    admission.opened(stream);
    admission.join(request(0).build(), stream);
    assertNull(admission.prove(proof(request(1).build(), stream), stream));
    assertEquals(0, admission.status().size());
  }

  @Test
  void whoIsChallengedWhenItsRunEndsIsChallengedAgainForTheKey() {
    JobRun run = join(request(0).build(), new Stream());
    Stream late = new Stream();
    admission.opened(late);
    admission.join(request(1).build(), late);
    JoinProof withoutKey = proof(request(1).build(), late);
    admission.streamEnded(run, 0, "gone");
    assertNull(admission.prove(withoutKey, late));
    assertTrue(late.last().getChallenge().getWantsKey());
    assertNotNull(admission.prove(proof(request(1).build(), late), late));
  }

  @Test
  void aSwitchWithSecretsForEachJobRefusesUnknownJobsAndOtherJobsSecrets() {
    admission =
        admission(
            SwitchConfig.builder()
                .secrets(JobSecrets.parse("f", List.of("# jobs", "", "job one", "other two"))));
    token = "one";
    assertNotNull(join(request(0).build(), new Stream()));
    refused(request(0).setJob("other"), "'other'", "--secrets", "--token");
    refused(request(0).setJob("third"), "'third'", "--secrets", "--job");
  }

  @Test
  void streamsThatProveNothingEndAfterFiveSeconds() {
    Stream silent = new Stream();
    Stream asking = new Stream();
    admission.opened(silent);
    admission.opened(asking);
    admission.join(request(0).build(), asking);
    admission.onTick(1_000_000_000L);
    admission.onTick(5_999_999_999L);
    assertFalse(silent.closed || asking.closed);
    admission.onTick(6_000_000_000L);
    assertTrue(silent.closed && asking.closed);
    assertTrue(silent.last().getRefused().getText().contains("5 s"));
    assertEquals(0, admission.pendingJoins());
    Stream member = new Stream();
    join(request(0).build(), member);
    admission.onTick(60_000_000_000L);
    admission.onTick(120_000_000_000L);
    assertFalse(member.closed, "a member stays as long as it likes");
  }

  /** Case 64. */
  @Test
  void aFloodOfJoinsPushesOutOnlyItself() {
    admission = admission(SwitchConfig.builder().maxStreams(50).maxPendingJoins(10));
    Stream zero = new Stream();
    assertNotNull(join(request(0).build(), zero));
    List<Stream> flood = new ArrayList<>();
    for (int i = 0; i < 100_000; i++) {
      Stream stream = new Stream();
      flood.add(stream);
      admission.opened(stream);
      admission.join(request(0).setJob("random " + i).build(), stream);
      assertTrue(admission.streams() <= 50 && admission.pendingJoins() <= 50);
    }
    Stream first = flood.get(0);
    assertTrue(first.closed);
    String text = first.last().getRefused().getText();
    assertTrue(text.contains("10 later joins") && text.contains("--max-pending-joins"), text);
    assertNotNull(join(request(1).build(), new Stream()), "a true rank joins meanwhile");
    assertFalse(zero.closed);
  }

  /** A slow worker of another host stays, however many joins one host sends. */
  @Test
  void oneHostsFloodCostsAnotherHostsWorkerNothing() {
    admission = admission(SwitchConfig.builder().maxStreams(50).maxPendingJoins(10));
    Stream slow = new Stream("10.0.0.2:40000");
    JoinRequest request = request(0).build();
    admission.opened(slow);
    admission.join(request, slow);
    for (int i = 0; i < 1_000; i++) {
      Stream stream = new Stream("10.0.0.1:" + i);
      admission.opened(stream);
      admission.join(request(0).setJob("random " + i).build(), stream);
    }
    assertFalse(slow.closed);
    assertNotNull(admission.prove(proof(request, slow), slow));
  }

  @Test
  void membersAreNeverPutOutForStrangersAndTheRefusalNamesTheLimit() {
    admission = admission(SwitchConfig.builder().maxStreams(2));
    JobRun run = started(new Stream(), new Stream());
    Stream third = new Stream();
    assertFalse(admission.opened(third));
    String text = third.last().getRefused().getText();
    assertTrue(text.contains("2 control streams") && text.contains("--max-streams"), text);
    assertEquals(JobRun.State.RUNNING, run.state());
  }

  @Test
  void anAuthenticatedJobHasAKeyThatIsNotOnTheWireAndPacketsOfTheSameLength() {
    token = "secret";
    Stream zero = new Stream();
    RunSpec spec = join(request(0).setAuthenticate(true).build(), zero).spec;
    assertEquals(350, spec.elements());
    assertEquals(350, zero.messages.get(1).getAdmitted().getElementsPerPacket());
    AggregationHeader theirs = new AggregationHeader(spec.authentication());
    UnsafeBuffer packet = new UnsafeBuffer(new byte[AggregationHeader.packetBytes(0, true)]);
    theirs.start(packet, 0, PacketKind.PROBE, 0).finish(packet);
    assertTrue(
        theirs.isAuthentic(JobKey.derive("secret", "job").runKey(spec.run(), spec.cookie())));
  }

  @Test
  void moreJobsThanAllowedAreRefused() {
    admission = admission(SwitchConfig.builder().maxJobs(1));
    assertNotNull(join(request(0).build(), new Stream()));
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

  /** The whole conversation, with the test's token. */
  private JobRun join(JoinRequest request, Stream stream) {
    admission.opened(stream);
    admission.join(request, stream);
    return stream.closed ? null : admission.prove(proof(request, stream), stream);
  }

  private JoinProof proof(JoinRequest request, Stream stream) {
    JoinChallenge challenge = stream.last().getChallenge();
    JobKey key = JobKey.derive(token, request.getJob());
    byte[] tag = key.proof(challenge.getNonce().toByteArray(), request.toByteArray());
    JoinProof.Builder proof = JoinProof.newBuilder().setTag(ByteString.copyFrom(tag));
    if (challenge.getWantsKey()) {
      proof.setKey(ByteString.copyFrom(key.bytes()));
    }
    return proof.build();
  }

  private JobRun started(Stream zero, Stream one) {
    JobRun run = join(request(0).build(), zero);
    join(request(1).build(), one);
    for (int shard = 0; shard < SHARDS; shard++) {
      admission.proved(run.spec.run(), 0);
      admission.proved(run.spec.run(), 1);
    }
    assertEquals(JobRun.State.RUNNING, run.state());
    return run;
  }

  private int slotsOf(JoinRequest.Builder request) {
    Stream stream = new Stream();
    join(request.build(), stream);
    return stream.messages.get(1).getAdmitted().getSlots();
  }

  private void refused(JoinRequest.Builder request, String... parts) {
    Stream stream = new Stream();
    assertNull(join(request.build(), stream));
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
        new Admission.DataPlane() {
          @Override
          public void install(RunSpec run) {
            installed.add(run);
          }

          @Override
          public void remove(RunSpec run) {
            installed.remove(run);
          }
        },
        new SplittableRandom(1));
  }

  /** Keeps what a rank is told. */
  private static final class Stream implements MemberStream {
    final List<SwitchMessage> messages = new ArrayList<>();
    private final String peer;
    boolean closed;

    Stream() {
      this("peer");
    }

    Stream(String peer) {
      this.peer = peer;
    }

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
      return peer;
    }

    SwitchMessage last() {
      return messages.get(messages.size() - 1);
    }
  }
}
