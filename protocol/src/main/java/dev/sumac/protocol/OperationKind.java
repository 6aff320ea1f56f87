package dev.sumac.protocol;

/**
 * How two elements become one. Each kind is associative and commutative on the 32-bit words of the
 * wire.
 */
public enum OperationKind {
  SUM(1),
  MIN(2),
  MAX(3);

  private static final OperationKind[] BY_CODE = {null, SUM, MIN, MAX};

  private final byte code;

  OperationKind(int code) {
    this.code = (byte) code;
  }

  /** The byte on the wire. */
  public byte code() {
    return code;
  }

  /** The kind with that code, or null. */
  public static OperationKind ofCode(int code) {
    return code > 0 && code < BY_CODE.length ? BY_CODE[code] : null;
  }
}
