package dev.sumac.protocol;

/** CRC32C bit by bit, as RFC 3720 defines it: what the tests compare the fast one with. */
final class BitwiseCrc32c {
  private static final int REFLECTED_POLYNOMIAL = 0x82F63B78;

  private BitwiseCrc32c() {}

  static int of(byte[] bytes, int offset, int length) {
    int crc = ~0;
    for (int i = offset; i < offset + length; i++) {
      crc ^= bytes[i] & 0xFF;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc & 1) != 0 ? crc >>> 1 ^ REFLECTED_POLYNOMIAL : crc >>> 1;
      }
    }
    return ~crc;
  }

  static int of(byte[] bytes) {
    return of(bytes, 0, bytes.length);
  }
}
