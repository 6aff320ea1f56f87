package dev.sumac.protocol;

/** Why the bytes of a datagram are not a packet. {@link #NONE} says that they are one. */
public enum Malformed {
  NONE("well formed"),
  TOO_SHORT("shorter than a header and its check value"),
  BAD_MAGIC("not a Sumac packet"),
  UNKNOWN_VERSION("another version of the framing"),
  UNKNOWN_KIND("unknown packet kind"),
  UNKNOWN_FLAG("a flag bit that has no meaning"),
  UNKNOWN_TYPE("unknown element type"),
  UNKNOWN_OPERATION("unknown operation kind"),
  UNEXPECTED_ELEMENTS("a kind without elements has some"),
  NEGATIVE_CHUNK("chunk number with its top bit set"),
  TRUNCATED("fewer bytes than its element count says"),
  WRONG_CHECK_VALUE("damaged: the CRC32C does not match");

  private final String text;

  Malformed(String text) {
    this.text = text;
  }

  /** The reason, for a person. */
  public String text() {
    return text;
  }
}
