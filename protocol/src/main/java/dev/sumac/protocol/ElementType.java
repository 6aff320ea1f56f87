package dev.sumac.protocol;

/** What the user's elements are. On the wire every element is one little-endian 32-bit word. */
public enum ElementType {
  /** Two's complement; sums wrap around, as hardware adds. */
  INT32(1),
  /** IEEE 754 single precision; a sum travels as fixed point, MIN and MAX as ordered integers. */
  FLOAT32(2);

  private static final ElementType[] BY_CODE = {null, INT32, FLOAT32};

  private final byte code;

  ElementType(int code) {
    this.code = (byte) code;
  }

  /** The byte on the wire. */
  public byte code() {
    return code;
  }

  /** The type with that code, or null. */
  public static ElementType ofCode(int code) {
    return code > 0 && code < BY_CODE.length ? BY_CODE[code] : null;
  }
}
