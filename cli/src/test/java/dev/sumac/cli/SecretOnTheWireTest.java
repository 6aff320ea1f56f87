package dev.sumac.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sumac.worker.Communicator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a listener between worker and switch gets to see of a plain control channel. */
@Timeout(60)
final class SecretOnTheWireTest {
  private static final String SECRET = "a-secret-that-is-easy-to-find";

  @Test
  void theSecretOfASwitchWithATokenNeverCrossesTheWire() throws Exception {
    try (LocalJob job =
            new LocalJob(1, options -> options.token(SECRET), options -> options.token(SECRET));
        Listener listener = new Listener(job.aggregationSwitch().port())) {
      int[] values = {7};
      try (Communicator communicator =
          Communicator.open(
              job.config(0).job("wire").switchAddress("127.0.0.1", listener.port()).build())) {
        communicator.allReduce(values);
      }
      assertEquals(7, values[0]);
      String seen = listener.seen();
      assertTrue(seen.contains("wire"), "the request went through the listener");
      assertFalse(seen.contains(SECRET));
    }
  }

  /** Passes one TCP connection on and keeps what the worker sent. */
  private static final class Listener implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    private final ByteArrayOutputStream fromWorker = new ByteArrayOutputStream();

    Listener(int switchPort) throws IOException {
      Thread accepting = new Thread(() -> pass(switchPort), "listener");
      accepting.setDaemon(true);
      accepting.start();
    }

    int port() {
      return server.getLocalPort();
    }

    String seen() {
      synchronized (fromWorker) {
        return fromWorker.toString(ISO_8859_1);
      }
    }

    private void pass(int switchPort) {
      try (Socket worker = server.accept();
          Socket toSwitch = new Socket(InetAddress.getLoopbackAddress(), switchPort)) {
        Thread back = new Thread(() -> copy(toSwitch, worker, false), "listener-back");
        back.setDaemon(true);
        back.start();
        copy(worker, toSwitch, true);
      } catch (IOException e) {
        // The test is over: its sockets are closed.
      }
    }

    private void copy(Socket from, Socket to, boolean keep) {
      byte[] bytes = new byte[8_192];
      try {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        int count;
        while ((count = in.read(bytes)) >= 0) {
          if (keep) {
            synchronized (fromWorker) {
              fromWorker.write(bytes, 0, count);
            }
          }
          out.write(bytes, 0, count);
          out.flush();
        }
      } catch (IOException e) {
        // As above.
      }
    }

    @Override
    public void close() throws IOException {
      server.close();
    }
  }
}
