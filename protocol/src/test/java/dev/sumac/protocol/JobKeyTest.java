package dev.sumac.protocol;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** The expected values come from Python's hmac module. */
final class JobKeyTest {
  private static final byte[] NONCE = HexFormat.of().parseHex("000102030405060708090a0b0c0d0e0f");
  private static final byte[] REQUEST = "request".getBytes(US_ASCII);

  private final JobKey key = JobKey.derive("secret", "training");

  @Test
  void theKeyIsDerivedFromSecretAndJob() {
    assertEquals(
        "44ad0e6058a461fe9b362d9e1d511c467cae961157dab9096ae1a76497ec1f33", hex(key.bytes()));
    assertEquals(
        "8ae6c5807340443723672b5ce80d9ddcaed0ea677e96a3b6457eb7bfec460af8",
        hex(JobKey.derive("", "training").bytes()));
  }

  @Test
  void theProofDependsOnNonceAndRequest() {
    assertEquals(
        "44dfb1f00d7580f783689c2079a56b36190403777b9d8019b84bd881637a7e1a",
        hex(key.proof(NONCE, REQUEST)));
    assertTrue(key.accepts(key.proof(NONCE, REQUEST), NONCE, REQUEST));
    assertFalse(key.accepts(key.proof(NONCE, REQUEST), REQUEST, REQUEST));
    assertFalse(key.accepts(key.proof(NONCE, REQUEST), NONCE, NONCE));
    assertFalse(key.accepts(new byte[0], NONCE, REQUEST));
    assertFalse(
        JobKey.derive("other", "training").accepts(key.proof(NONCE, REQUEST), NONCE, REQUEST));
  }

  @Test
  void theRunKeyIsTheFirst16BytesOfItsOwnDerivation() {
    UnsafeBuffer message = new UnsafeBuffer(new byte[20]);
    assertEquals(
        new SipHash(0xb2a72a808e6fb615L, 0x7388324bc8d624a3L).of(message, 0, 20),
        key.runKey(7, 0x1122334455667788L).of(message, 0, 20));
  }

  @Test
  void aKeyTravelsAsItsBytesAndNothingElseIsAKey() {
    assertArrayEquals(key.bytes(), JobKey.of(key.bytes()).bytes());
    assertThrows(IllegalArgumentException.class, () -> JobKey.of(new byte[31]));
  }

  @Test
  void aKeyIsNeverPrinted() {
    assertEquals("job key", key.toString());
    assertEquals("SipHash-2-4", key.runKey(1, 2).toString());
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
