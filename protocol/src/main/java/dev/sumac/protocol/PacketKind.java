package dev.sumac.protocol;

/** What a packet is for; docs/protocol.md, section 3, tells which fields each kind uses. */
public enum PacketKind {
  /** Worker to switch: one rank's values of one chunk. */
  CONTRIBUTION(1, true),
  /** Switch to workers: the reduction of all ranks' values of one chunk. */
  RESULT(2, true),
  /** Worker to switch, release policy ACKNOWLEDGED only: the result of this chunk has arrived. */
  ACK(3, false),
  /**
   * Switch to worker, release policy ACKNOWLEDGED only: send your contribution to this chunk again.
   */
  SOLICIT(4, false),
  /** Worker to switch: I claim this address for my rank. */
  PROBE(5, false),
  /** Switch to worker: then tell me this number; it is in the chunk field. */
  CHALLENGE(6, false),
  /** Worker to switch: the number of the challenge. */
  ANSWER(7, false),
  /** Switch to worker: your address counts from now on. */
  PROVED(8, false);

  private static final PacketKind[] BY_CODE = {
    null, CONTRIBUTION, RESULT, ACK, SOLICIT, PROBE, CHALLENGE, ANSWER, PROVED
  };

  private final byte code;
  private final boolean carriesElements;

  PacketKind(int code, boolean carriesElements) {
    this.code = (byte) code;
    this.carriesElements = carriesElements;
  }

  /** The byte on the wire. */
  public byte code() {
    return code;
  }

  /** Whether packets of this kind may have an element count other than 0. */
  public boolean carriesElements() {
    return carriesElements;
  }

  /** The kind with that code, or null. */
  public static PacketKind ofCode(int code) {
    return code > 0 && code < BY_CODE.length ? BY_CODE[code] : null;
  }
}
