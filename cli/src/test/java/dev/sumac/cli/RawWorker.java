package dev.sumac.cli;

import com.google.protobuf.ByteString;
import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Elements;
import dev.sumac.protocol.JobKey;
import dev.sumac.protocol.Malformed;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import dev.sumac.protocol.control.Admitted;
import dev.sumac.protocol.control.ControlGrpc;
import dev.sumac.protocol.control.JoinChallenge;
import dev.sumac.protocol.control.JoinProof;
import dev.sumac.protocol.control.JoinRequest;
import dev.sumac.protocol.control.ReleasePolicy;
import dev.sumac.protocol.control.SwitchMessage;
import dev.sumac.protocol.control.WorkerMessage;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A rank made by hand from the protocol's text, not from the worker library, so that a test can
 * send what the library never would. One shard; blocking; not thread-safe.
 */
final class RawWorker implements AutoCloseable {
  private static final int SECONDS = 10;

  private final int rank;
  private final InetSocketAddress shard;
  private final ManagedChannel channel;
  private final StreamObserver<WorkerMessage> requests;
  private final JoinRequest request;
  private final CompletableFuture<Void> started = new CompletableFuture<>();
  private final DatagramSocket socket;
  private final Admitted admitted;

  /** Joins and proves its address; {@link #awaitStart} waits for the other ranks. */
  RawWorker(int switchPort, String job, int rank, int worldSize)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    this.rank = rank;
    CompletableFuture<Admitted> answer = new CompletableFuture<>();
    channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", switchPort, InsecureChannelCredentials.create())
            .build();
    requests =
        ControlGrpc.newStub(channel)
            .join(
                new StreamObserver<>() {
                  @Override
                  public void onNext(SwitchMessage message) {
                    if (message.hasChallenge()) {
                      prove(job, message.getChallenge());
                    } else if (message.hasAdmitted()) {
                      answer.complete(message.getAdmitted());
                    } else if (message.hasStarted()) {
                      started.complete(null);
                    } else if (message.hasRefused()) {
                      answer.completeExceptionally(new IOException(message.getRefused().getText()));
                    }
                  }

                  @Override
                  public void onError(Throwable error) {
                    answer.completeExceptionally(error);
                    started.completeExceptionally(error);
                  }

                  @Override
                  public void onCompleted() {
                    onError(new IOException("the switch has ended the call"));
                  }
                });
    request =
        JoinRequest.newBuilder()
            .setProtocolVersion(AggregationHeader.VERSION)
            .setJob(job)
            .setRank(rank)
            .setWorldSize(worldSize)
            .setWindow(512)
            .setReleasePolicy(ReleasePolicy.TWO_VERSION)
            .build();
    requests.onNext(WorkerMessage.newBuilder().setJoin(request).build());
    admitted = answer.get(SECONDS, TimeUnit.SECONDS);
    shard = new InetSocketAddress(InetAddress.getLoopbackAddress(), admitted.getShardPorts(0));
    socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
    AggregationHeader challenge = ask(control(PacketKind.PROBE, 0), PacketKind.CHALLENGE);
    ask(control(PacketKind.ANSWER, challenge.chunk()), PacketKind.PROVED);
    socket.setSoTimeout(SECONDS * 1_000);
  }

  /** A job without a secret has the key of the empty one. */
  private void prove(String job, JoinChallenge challenge) {
    JobKey key = JobKey.derive("", job);
    requests.onNext(
        WorkerMessage.newBuilder()
            .setProof(
                JoinProof.newBuilder()
                    .setKey(ByteString.copyFrom(key.bytes()))
                    .setTag(
                        ByteString.copyFrom(
                            key.proof(challenge.getNonce().toByteArray(), request.toByteArray()))))
            .build());
  }

  void awaitStart() throws InterruptedException, ExecutionException, TimeoutException {
    started.get(SECONDS, TimeUnit.SECONDS);
  }

  Admitted admitted() {
    return admitted;
  }

  DatagramSocket socket() {
    return socket;
  }

  /** A packet of int32 SUM values of operation 0. */
  byte[] contribution(long chunk, int operationElements, int... values) {
    UnsafeBuffer bytes = new UnsafeBuffer(new byte[AggregationHeader.packetBytes(values.length)]);
    AggregationHeader header = new AggregationHeader();
    header
        .start(bytes, 0, PacketKind.CONTRIBUTION, tag(Tag.ALL_REDUCE))
        .elementCount(values.length)
        .run(admitted.getRun())
        .cookie(admitted.getCookie())
        .chunk(chunk)
        .operationElements(operationElements);
    Elements.write(values, 0, bytes, header.elementsOffset(), values.length);
    header.finish(bytes);
    return bytes.byteArray();
  }

  /** A packet without elements. */
  byte[] control(PacketKind kind, long number) {
    UnsafeBuffer bytes = new UnsafeBuffer(new byte[AggregationHeader.packetBytes(0)]);
    new AggregationHeader()
        .start(bytes, 0, kind, tag(Tag.CONTROL))
        .run(admitted.getRun())
        .cookie(admitted.getCookie())
        .chunk(number)
        .finish(bytes);
    return bytes.byteArray();
  }

  void send(byte[] bytes) throws IOException {
    socket.send(new DatagramPacket(bytes, bytes.length, shard));
  }

  /** The next packet of that kind; others are skipped. */
  AggregationHeader receive(PacketKind kind) throws IOException {
    while (true) {
      DatagramPacket datagram = new DatagramPacket(new byte[65_536], 65_536);
      socket.receive(datagram);
      UnsafeBuffer bytes =
          new UnsafeBuffer(Arrays.copyOf(datagram.getData(), datagram.getLength()));
      AggregationHeader header = new AggregationHeader();
      if (header.check(bytes, 0, datagram.getLength()) == Malformed.NONE && header.kind() == kind) {
        return header;
      }
    }
  }

  /** Sends until it is answered: the shard may not know the run yet. */
  private AggregationHeader ask(byte[] question, PacketKind answer) throws IOException {
    socket.setSoTimeout(20);
    for (int i = 0; i < SECONDS * 50; i++) {
      send(question);
      try {
        return receive(answer);
      } catch (SocketTimeoutException e) {
        // Again, as the library does.
      }
    }
    throw new IOException("no " + answer + " in " + SECONDS + " s");
  }

  private long tag(int collective) {
    return Tag.word(admitted.getJobNumber(), 0, collective, rank, Tag.SWITCH);
  }

  /** Goes without a word, as a killed process would. */
  @Override
  public void close() {
    socket.close();
    channel.shutdownNow();
  }
}
