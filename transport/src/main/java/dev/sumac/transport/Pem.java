package dev.sumac.transport;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * Reads PEM files (RFC 7468). Every failure is one line that names the option and the file.
 * Stateless.
 */
final class Pem {
  private static final String KEY_BEGIN = "-----BEGIN PRIVATE KEY-----";
  private static final String KEY_END = "-----END PRIVATE KEY-----";
  private static final char[] NO_PASSWORD = new char[0];

  private Pem() {}

  static KeyManager[] keyManagers(
      String certificateOption, Path certificateFile, String keyOption, Path keyFile)
      throws IOException {
    Certificate[] chain =
        certificates(certificateOption, certificateFile).toArray(new Certificate[0]);
    PrivateKey key = privateKey(keyOption, keyFile, chain[0]);
    if (!belongTogether(key, chain[0])) {
      throw new IOException(
          keyOption
              + " "
              + keyFile
              + " is not the key of "
              + certificateOption
              + " "
              + certificateFile);
    }
    try {
      KeyStore store = emptyStore();
      store.setKeyEntry("own", key, NO_PASSWORD, chain);
      KeyManagerFactory factory =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      factory.init(store, NO_PASSWORD);
      return factory.getKeyManagers();
    } catch (GeneralSecurityException e) {
      throw new IOException(keyOption + " " + keyFile + ": " + e.getMessage(), e);
    }
  }

  static TrustManager[] trustManagers(String option, Path file) throws IOException {
    Collection<? extends Certificate> trusted = certificates(option, file);
    try {
      KeyStore store = emptyStore();
      int number = 0;
      for (Certificate certificate : trusted) {
        store.setCertificateEntry("ca-" + number++, certificate);
      }
      TrustManagerFactory factory =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(store);
      return factory.getTrustManagers();
    } catch (GeneralSecurityException e) {
      throw new IOException(option + " " + file + ": " + e.getMessage(), e);
    }
  }

  private static Collection<? extends Certificate> certificates(String option, Path file)
      throws IOException {
    byte[] bytes = read(option, file);
    try {
      Collection<? extends Certificate> found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(bytes));
      if (!found.isEmpty()) {
        return found;
      }
      throw new CertificateException("none found");
    } catch (CertificateException e) {
      throw new IOException(option + " " + file + " has no X.509 certificate in PEM", e);
    }
  }

  private static PrivateKey privateKey(String option, Path file, Certificate certificate)
      throws IOException {
    String text = new String(read(option, file), StandardCharsets.US_ASCII);
    int begin = text.indexOf(KEY_BEGIN);
    int end = text.indexOf(KEY_END);
    if (begin < 0 || end < begin) {
      throw new IOException(
          option
              + " "
              + file
              + " has no '"
              + KEY_BEGIN
              + "'; openssl pkcs8 -topk8 -nocrypt makes one of other keys");
    }
    String algorithm = certificate.getPublicKey().getAlgorithm();
    try {
      byte[] der = Base64.getMimeDecoder().decode(text.substring(begin + KEY_BEGIN.length(), end));
      return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new IOException(
          option + " " + file + " has no " + algorithm + " key, as the certificate's is", e);
    }
  }

  /** What the one signs, the other must verify. */
  private static boolean belongTogether(PrivateKey key, Certificate certificate)
      throws IOException {
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> key.getAlgorithm();
        };
    try {
      Signature signature = Signature.getInstance(algorithm);
      byte[] sample = ((X509Certificate) certificate).getTBSCertificate();
      signature.initSign(key);
      signature.update(sample);
      byte[] signed = signature.sign();
      signature.initVerify(certificate.getPublicKey());
      signature.update(sample);
      return signature.verify(signed);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  private static byte[] read(String option, Path file) throws IOException {
    try {
      return Files.readAllBytes(file);
    } catch (NoSuchFileException e) {
      throw new IOException(option + " " + file + " can't be read: no such file", e);
    } catch (AccessDeniedException e) {
      throw new IOException(option + " " + file + " can't be read: permission denied", e);
    } catch (IOException e) {
      throw new IOException(option + " " + file + " can't be read: " + e.getMessage(), e);
    }
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    return store;
  }
}
