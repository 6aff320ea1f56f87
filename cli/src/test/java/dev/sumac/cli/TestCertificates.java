package dev.sumac.cli;

import dev.sumac.transport.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/**
 * A self-signed certificate for 127.0.0.1 and its key, as PEM files, made by the JDK's keytool. It
 * is its own CA.
 */
record TestCertificates(Path certificate, Path key) {
  private static final String PASSWORD = "for this test only";

  static TestCertificates make(Path folder, String name, String algorithm)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = folder.resolve(name + ".p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "own",
                "-keyalg",
                algorithm,
                "-dname",
                "CN=" + name,
                "-ext",
                "san=ip:127.0.0.1,dns:localhost",
                "-validity",
                "2",
                "-keystore",
                store.toString(),
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(name + ".log").toFile())
            .start();
    if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
      throw new IOException(Files.readString(folder.resolve(name + ".log")));
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return new TestCertificates(
        pem(
            folder.resolve(name + "-cert.pem"),
            "CERTIFICATE",
            keys.getCertificate("own").getEncoded()),
        pem(
            folder.resolve(name + "-key.pem"),
            "PRIVATE KEY",
            keys.getKey("own", PASSWORD.toCharArray()).getEncoded()));
  }

  TlsFiles ofSwitch() {
    return TlsFiles.ofSwitch(certificate, key, null);
  }

  TlsFiles ofSwitchThatTrusts(TestCertificates workers) {
    return TlsFiles.ofSwitch(certificate, key, workers.certificate);
  }

  TlsFiles ofWorkerThatTrusts(TestCertificates theSwitch) {
    return TlsFiles.ofWorker(certificate, key, theSwitch.certificate);
  }

  /** A worker that trusts this certificate and has none of its own. */
  TlsFiles trusted() {
    return TlsFiles.ofWorker(null, null, certificate);
  }

  private static Path pem(Path file, String what, byte[] der) throws IOException {
    String text =
        "-----BEGIN "
            + what
            + "-----\n"
            + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der)
            + "\n-----END "
            + what
            + "-----\n";
    return Files.writeString(file, text, StandardCharsets.US_ASCII);
  }
}
