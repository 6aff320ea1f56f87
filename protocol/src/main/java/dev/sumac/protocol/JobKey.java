package dev.sumac.protocol;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What the ranks of one job and the switch share: a key that is derived from the job's secret, so
 * that the secret itself never travels. Immutable, thread-safe.
 *
 * <pre>
 *   job key = HMAC-SHA256(secret,  "sumac job "  | job name)
 *   proof   = HMAC-SHA256(job key, "sumac join"  | nonce | JoinRequest)
 *   run key = HMAC-SHA256(job key, "sumac data"  | run, 4 B LE | cookie, 8 B LE), its first 16 bytes
 * </pre>
 *
 * <p>HMAC after RFC 2104; the labels keep a proof from ever being a run key.
 */
public final class JobKey {
  /** Bytes of a job key and of a proof. */
  public static final int BYTES = 32;

  /** Fewest bytes of a nonce that a proof is given for. */
  public static final int MIN_NONCE_BYTES = 16;

  private static final String ALGORITHM = "HmacSHA256";
  private static final byte[] JOB = "sumac job ".getBytes(US_ASCII);
  private static final byte[] JOIN = "sumac join".getBytes(US_ASCII);
  private static final byte[] DATA = "sumac data".getBytes(US_ASCII);

  private final byte[] key;

  private JobKey(byte[] key) {
    this.key = key;
  }

  /** The key of a job with this secret; no secret is the empty one. */
  public static JobKey derive(String secret, String job) {
    return new JobKey(hmac(secret.getBytes(UTF_8), JOB, job.getBytes(UTF_8)));
  }

  /**
   * A key that was derived elsewhere.
   *
   * @throws IllegalArgumentException when it has another length than {@link #BYTES}
   */
  public static JobKey of(byte[] key) {
    if (key.length != BYTES) {
      throw new IllegalArgumentException("job key of " + key.length + " bytes, not " + BYTES);
    }
    return new JobKey(key.clone());
  }

  public byte[] bytes() {
    return key.clone();
  }

  /** Proof that whoever sent this request knows the key, for one challenge. */
  public byte[] proof(byte[] nonce, byte[] joinRequest) {
    return hmac(key, JOIN, nonce, joinRequest);
  }

  /** Whether the proof is right; takes as long when it is not. */
  public boolean accepts(byte[] proof, byte[] nonce, byte[] joinRequest) {
    return MessageDigest.isEqual(proof, proof(nonce, joinRequest));
  }

  /** What the packets of one run are authenticated with. */
  public SipHash runKey(int run, long cookie) {
    ByteBuffer label =
        ByteBuffer.allocate(Integer.BYTES + Long.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(run)
            .putLong(cookie);
    ByteBuffer derived =
        ByteBuffer.wrap(hmac(key, DATA, label.array())).order(ByteOrder.LITTLE_ENDIAN);
    return new SipHash(derived.getLong(), derived.getLong());
  }

  private static byte[] hmac(byte[] key, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      // RFC 2104 pads keys with zeros, so one zero is the empty key, which the JDK does not take.
      mac.init(new SecretKeySpec(key.length == 0 ? new byte[1] : key, ALGORITHM));
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
    }
  }

  /** Says nothing of the key. */
  @Override
  public String toString() {
    return "job key";
  }
}
