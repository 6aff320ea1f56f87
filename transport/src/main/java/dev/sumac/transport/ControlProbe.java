package dev.sumac.transport;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * Finds out for a person why a control channel did not come about: connects once by hand and looks
 * how far it gets. Blocks for a few hundred milliseconds at most; stateless.
 */
public final class ControlProbe {
  private static final int TIMEOUT_MS = 200;

  private ControlProbe() {}

  /** One line: why there was no answer from a switch at this address. */
  public static String why(String host, int port, TlsFiles tls) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host, port), TIMEOUT_MS);
      socket.setSoTimeout(TIMEOUT_MS);
      String why = handshake(socket, host, port, tls);
      return why == null ? "it accepts connections but does not answer as a Sumac switch" : why;
    } catch (IOException e) {
      return e.getMessage();
    }
  }

  /** How TLS goes, or null when it has nothing to do with it. */
  private static String handshake(Socket socket, String host, int port, TlsFiles tls) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(tls.keyManagers(), tls.trustManagers(), null);
      try (SSLSocket secure =
          (SSLSocket) context.getSocketFactory().createSocket(socket, host, port, false)) {
        SSLParameters parameters = secure.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        parameters.setApplicationProtocols(new String[] {"h2"});
        secure.setSSLParameters(parameters);
        secure.startHandshake();
        // From TLS 1.3 on, a switch that misses the worker's certificate says so only now.
        int first = secure.getInputStream().read();
        return !tls.isOn()
            ? "it speaks TLS: option --tls-ca"
            : first < 0 ? "it ends the TLS connection" : null;
      }
    } catch (SSLHandshakeException e) {
      return tls.isOn()
          ? "TLS: " + e.getMessage() + ": options --tls-ca, --tls-cert, --tls-key"
          : "it speaks TLS: option --tls-ca";
    } catch (SSLException e) {
      return tls.isOn() ? notTls(e) : null;
    } catch (EOFException e) {
      return tls.isOn() ? notTls(e) : null;
    } catch (IOException | GeneralSecurityException e) {
      return null; // Silence: says nothing about TLS.
    }
  }

  private static String notTls(IOException e) {
    return "it does not speak TLS ("
        + e.getMessage()
        + "): leave out --tls-ca, or start the switch with --tls-cert and --tls-key";
  }
}
