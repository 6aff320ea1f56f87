package dev.sumac.worker;

import dev.sumac.protocol.AggregationHeader;
import dev.sumac.protocol.PacketKind;
import dev.sumac.protocol.Tag;
import dev.sumac.transport.Outbox;

/**
 * Proves to one shard that this socket's address is the rank's. Used on the engine's thread only.
 *
 * <pre>
 *   PROBING --CHALLENGE(number)--> ANSWERING(number) --PROVED--> done
 * </pre>
 *
 * <p>The packet of the state is sent again every {@link #REPEAT_NS} until the next one comes.
 */
final class AddressProof {
  static final long REPEAT_NS = 20_000_000;

  private final RunParameters run;
  private final Outbox outbox;
  private final AggregationHeader out;
  private PacketKind sending = PacketKind.PROBE;
  private long number;
  private long sentNs;
  private boolean everSent;

  AddressProof(RunParameters run, Outbox outbox) {
    this.run = run;
    this.outbox = outbox;
    this.out = new AggregationHeader(run.authentication());
  }

  boolean isDone() {
    return sending == null;
  }

  void poll(long nowNs) {
    if (!isDone() && (!everSent || nowNs - sentNs >= REPEAT_NS)) {
      send(nowNs);
    }
  }

  void onChallenge(long theNumber, long nowNs) {
    if (!isDone()) {
      sending = PacketKind.ANSWER;
      number = theNumber;
      send(nowNs);
    }
  }

  void onProved() {
    sending = null;
  }

  private void send(long nowNs) {
    everSent = true;
    sentNs = nowNs;
    int at = outbox.claim(out.bytesOf(0));
    out.start(
            outbox.buffer(),
            at,
            sending,
            Tag.word(run.job(), 0, Tag.CONTROL, run.rank(), Tag.SWITCH))
        .run(run.run())
        .cookie(run.cookie())
        .chunk(number)
        .finish(outbox.buffer());
    outbox.commit();
  }
}
