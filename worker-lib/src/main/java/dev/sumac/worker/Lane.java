package dev.sumac.worker;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.Elements;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import dev.sumac.reliability.RttEstimator;
import dev.sumac.reliability.SendWindow;
import dev.sumac.transport.Outbox;
import java.util.ArrayDeque;
import java.util.Iterator;
import org.agrona.DirectBuffer;

/**
 * SwitchML's worker (NSDI'21, sections 3.4 and 3.5) on one shard: fill every slot, then let each
 * result clock out the next packet of its slot. Used on the engine's thread only; owns no thread,
 * socket or clock; allocates nothing per packet.
 */
final class Lane {
  /** Told when an operation's last result is in its output. */
  interface Listener {
    void onOperationDone(Operation operation, long nowNs);
  }

  private final RunParameters run;
  private final int index;
  private final Outbox outbox;
  private final Listener listener;
  private final SendWindow window;
  private final Retained retained;
  private final ArrayDeque<LaneOperation> operations = new ArrayDeque<>();
  private final AggregationHeader out;
  private final int[] words;
  private final long contributionTag;
  private long nextPacket;
  private long nowNs;
  private long packetsSent;

  Lane(RunParameters run, int index, Outbox outbox, long minRtoNs, Listener listener) {
    this.run = run;
    this.index = index;
    this.outbox = outbox;
    this.listener = listener;
    this.out = new AggregationHeader(run.authentication());
    this.window =
        new SendWindow(
            run.slots(),
            run.firstChunk(),
            new RttEstimator(minRtoNs, RttEstimator.DEFAULT_MAX_RTO_NS),
            this::resend);
    this.retained =
        run.releasePolicy() == ReleasePolicy.ACKNOWLEDGED
            ? new Retained(run.slots(), out.bytesOf(run.elementsPerPacket()))
            : null;
    this.words = new int[run.elementsPerPacket()];
    this.nextPacket = run.firstChunk();
    this.contributionTag = Tag.word(run.job(), 0, Tag.ALL_REDUCE, run.rank(), Tag.SWITCH);
  }

  /** Takes this lane's part of an operation; what the window allows leaves at once. */
  void submit(Operation operation, long now) {
    nowNs = now;
    LaneOperation part =
        new LaneOperation(operation, index, run.shards().size(), nextPacket, run.slots());
    if (part.isDone()) {
      return; // Fewer chunks than lanes: nothing for this one.
    }
    long from = nextPacket;
    nextPacket = part.end();
    operations.add(part);
    for (long packet = from; packet < Math.min(nextPacket, from + run.slots()); packet++) {
      sendNext(window.slotOf(packet));
    }
  }

  /** A result of this lane's shard, checked to be of this run. */
  void onResult(AggregationHeader result, DirectBuffer buffer, long now) {
    nowNs = now;
    long packet = result.chunk();
    boolean isNew = window.accept(packet, now);
    if (retained != null && (isNew || retained.lengthBytes(packet) > 0)) {
      acknowledge(packet);
    }
    if (isNew) {
      take(operationOf(packet), packet, result, buffer);
    }
  }

  /** The switch asks for a contribution again (release policy ACKNOWLEDGED). */
  void onSolicit(long packet, long now) {
    nowNs = now;
    int lengthBytes = retained == null || packet < 0 ? 0 : retained.lengthBytes(packet);
    if (lengthBytes > 0) {
      int at = outbox.claim(lengthBytes);
      outbox.buffer().putBytes(at, retained.buffer(), retained.offset(packet), lengthBytes);
      outbox.commit();
      packetsSent++;
    }
  }

  /** Sends again what is overdue. */
  void poll(long now) {
    nowNs = now;
    window.poll(now);
  }

  boolean isIdle() {
    return window.inFlightCount() == 0;
  }

  /** Forgets everything in flight. */
  void abandon() {
    window.abandon();
    operations.clear();
  }

  long packetsSent() {
    return packetsSent;
  }

  long retransmissions() {
    return window.retransmissions();
  }

  private void take(
      LaneOperation part, long packet, AggregationHeader result, DirectBuffer buffer) {
    boolean isLast = false;
    if (part.isExponentPacket(packet)) {
      takeExponents(part, packet, result, buffer);
    } else {
      isLast = takeData(part, packet, result, buffer);
    }
    if (part.packetDone()) {
      while (!operations.isEmpty() && operations.peek().isDone()) {
        operations.remove();
      }
    }
    sendNext(window.slotOf(packet));
    if (isLast) {
      listener.onOperationDone(part.operation(), nowNs);
    }
  }

  /** The ranks' common exponents of the first window of parts: their data may go. */
  private void takeExponents(
      LaneOperation part, long packet, AggregationHeader result, DirectBuffer buffer) {
    int first = part.firstPart(packet);
    int count = part.partCount(packet);
    Elements.read(
        buffer, result.elementsOffset(), words, 0, count * LaneOperation.ELEMENTS_PER_EXPONENT);
    for (int i = 0; i < count; i++) {
      part.operation()
          .sharedExponent(
              part.chunkOf(first + i), SharedExponent.of(words[2 * i], words[2 * i + 1] != 0));
    }
    for (int i = 0; i < count; i++) {
      sendNext(window.slotOf(part.dataPacketOf(first + i)));
    }
  }

  private boolean takeData(
      LaneOperation part, long packet, AggregationHeader result, DirectBuffer buffer) {
    Operation operation = part.operation();
    int chunk = part.chunkOf(part.partOf(packet));
    int count = operation.elementCount(chunk);
    Elements.read(buffer, result.elementsOffset(), words, 0, count);
    operation
        .codec()
        .decode(words, operation.firstElement(chunk), count, operation.sharedExponent(chunk));
    int exponentPart = part.exponentPartOf(packet);
    if (exponentPart >= 0) {
      operation.sharedExponent(
          part.chunkOf(exponentPart),
          SharedExponent.of(result.exponent(), result.nonFinite() != 0));
      sendNext(window.slotOf(part.dataPacketOf(exponentPart)));
    }
    return operation.chunkDone();
  }

  /**
   * Sends the slot's next packet if the slot is free, an operation has it, and its exponent is
   * known.
   */
  private void sendNext(int slot) {
    long packet = window.sendable(slot);
    if (packet < 0 || packet >= nextPacket) {
      return;
    }
    LaneOperation part = operationOf(packet);
    if (!part.isExponentPacket(packet)
        && part.operation().sharedExponent(part.chunkOf(part.partOf(packet)))
            == SharedExponent.UNKNOWN) {
      return;
    }
    write(part, packet, 0);
    window.sent(slot, nowNs);
  }

  private void resend(long packet) {
    write(operationOf(packet), packet, AggregationHeader.RETRANSMISSION);
  }

  private void write(LaneOperation part, long packet, int flags) {
    boolean isExponents = part.isExponentPacket(packet);
    int count =
        isExponents
            ? part.partCount(packet) * LaneOperation.ELEMENTS_PER_EXPONENT
            : part.operation().elementCount(part.chunkOf(part.partOf(packet)));
    ChunkCodec codec = part.operation().codec();
    int at = outbox.claim(out.bytesOf(count));
    out.start(outbox.buffer(), at, PacketKind.CONTRIBUTION, contributionTag)
        .flags(isExponents ? flags | AggregationHeader.EXPONENTS : flags)
        .elementType(codec.type())
        .operationKind(codec.kind())
        .elementCount(count)
        .run(run.run())
        .cookie(run.cookie())
        .chunk(packet)
        .operation(part.operation().number())
        .operationElements(codec.length());
    if (isExponents) {
      encodeExponents(part, packet);
    } else {
      encodeData(part, packet, count);
    }
    Elements.write(words, 0, outbox.buffer(), out.elementsOffset(), count);
    int lengthBytes = out.finish(outbox.buffer());
    if (retained != null) {
      keep(packet, at, lengthBytes);
    }
    outbox.commit();
    packetsSent++;
  }

  private void encodeExponents(LaneOperation part, long packet) {
    int first = part.firstPart(packet);
    int count = part.partCount(packet);
    for (int i = 0; i < count; i++) {
      int mine = exponentOf(part, first + i);
      words[2 * i] = SharedExponent.exponent(mine);
      words[2 * i + 1] = SharedExponent.isNonFinite(mine) ? 1 : 0;
    }
  }

  private void encodeData(LaneOperation part, long packet, int count) {
    int exponentPart = part.exponentPartOf(packet);
    if (exponentPart >= 0) {
      int mine = exponentOf(part, exponentPart);
      out.exponent(SharedExponent.exponent(mine));
      out.nonFinite(SharedExponent.isNonFinite(mine) ? 1 : 0);
    }
    Operation operation = part.operation();
    int chunk = part.chunkOf(part.partOf(packet));
    operation
        .codec()
        .encode(operation.firstElement(chunk), count, operation.sharedExponent(chunk), words);
  }

  private static int exponentOf(LaneOperation part, int index) {
    Operation operation = part.operation();
    int chunk = part.chunkOf(index);
    return operation.codec().exponent(operation.firstElement(chunk), operation.elementCount(chunk));
  }

  /**
   * Keeps the packet as it was first sent: an answer to a solicitation must not ask others in turn.
   */
  private void keep(long packet, int at, int lengthBytes) {
    if (!out.isRetransmission()) {
      retained.keep(packet, outbox.buffer(), at, lengthBytes);
    }
  }

  private void acknowledge(long packet) {
    int at = outbox.claim(out.bytesOf(0));
    out.start(outbox.buffer(), at, PacketKind.ACK, contributionTag)
        .run(run.run())
        .cookie(run.cookie())
        .chunk(packet)
        .finish(outbox.buffer());
    outbox.commit();
    packetsSent++;
  }

  private LaneOperation operationOf(long packet) {
    Iterator<LaneOperation> candidates = operations.iterator();
    while (candidates.hasNext()) {
      LaneOperation part = candidates.next();
      if (part.holds(packet)) {
        return part;
      }
    }
    throw new IllegalStateException("packet " + packet + " belongs to no operation");
  }
}
