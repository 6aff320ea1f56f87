package dev.sumac.transport;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.io.IOException;
import java.nio.file.Path;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;

/**
 * The PEM files of one end of the control channel; null is a file that was not given. Immutable;
 * nothing is read before credentials are asked for.
 *
 * @param certificate this end's certificate chain
 * @param key the private key of its first certificate, PKCS#8
 * @param ca certificates that the other end's must come from
 * @param caOption what the option of {@code ca} is called
 */
public record TlsFiles(Path certificate, Path key, Path ca, String caOption) {
  /** No TLS. */
  public static final TlsFiles NONE = new TlsFiles(null, null, null, "--tls-ca");

  public TlsFiles {
    if ((certificate == null) != (key == null)) {
      throw new IllegalArgumentException(
          certificate == null
              ? "--tls-key " + key + " without --tls-cert"
              : "--tls-cert " + certificate + " without --tls-key");
    }
  }

  /** The files of a worker: it trusts {@code ca}, or the JVM's authorities when that is null. */
  public static TlsFiles ofWorker(Path certificate, Path key, Path ca) {
    return new TlsFiles(certificate, key, ca, "--tls-ca");
  }

  /**
   * The files of a switch. With {@code clientCa} workers must show a certificate too.
   *
   * @throws IllegalArgumentException when there is a {@code clientCa} and no certificate
   */
  public static TlsFiles ofSwitch(Path certificate, Path key, Path clientCa) {
    if (clientCa != null && certificate == null) {
      throw new IllegalArgumentException(
          "--tls-client-ca " + clientCa + " without --tls-cert and --tls-key");
    }
    return new TlsFiles(certificate, key, clientCa, "--tls-client-ca");
  }

  /** Whether there is any file. */
  public boolean isOn() {
    return certificate != null || ca != null;
  }

  /**
   * Credentials of a switch.
   *
   * @throws IOException with one line that names the option and the file
   */
  public ServerCredentials serverCredentials() throws IOException {
    if (!isOn()) {
      return InsecureServerCredentials.create();
    }
    TlsServerCredentials.Builder builder =
        TlsServerCredentials.newBuilder().keyManager(keyManagers());
    if (ca != null) {
      builder.trustManager(trustManagers()).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    }
    return builder.build();
  }

  /**
   * Credentials of a worker.
   *
   * @throws IOException with one line that names the option and the file
   */
  public ChannelCredentials channelCredentials() throws IOException {
    if (!isOn()) {
      return InsecureChannelCredentials.create();
    }
    TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
    if (ca != null) {
      builder.trustManager(trustManagers());
    }
    if (certificate != null) {
      builder.keyManager(keyManagers());
    }
    return builder.build();
  }

  /** Managers of this end's own key; none without a certificate. */
  KeyManager[] keyManagers() throws IOException {
    return certificate == null
        ? new KeyManager[0]
        : Pem.keyManagers("--tls-cert", certificate, "--tls-key", key);
  }

  /** Managers of whom this end trusts; null, the JVM's own, without a CA. */
  TrustManager[] trustManagers() throws IOException {
    return ca == null ? null : Pem.trustManagers(caOption, ca);
  }
}
