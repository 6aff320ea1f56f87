package dev.sumac.cli;

import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code HOST:PORT}, {@code [IPV6]:PORT}, or a host alone with the default port.
 *
 * @param host name or address
 * @param port 1 to 65,535
 */
record HostPort(String host, int port) {
  private static final int DEFAULT_PORT = 5170;

  static HostPort parse(String text) {
    int colon = text.lastIndexOf(':');
    boolean bracketed = text.startsWith("[");
    if (colon < 0 || (bracketed && text.endsWith("]"))) {
      return new HostPort(unbracketed(text), DEFAULT_PORT);
    }
    String portText = text.substring(colon + 1);
    String host = unbracketed(text.substring(0, colon));
    try {
      int port = Integer.parseInt(portText);
      if (port >= 1 && port <= 65_535 && !host.isEmpty()) {
        return new HostPort(host, port);
      }
    } catch (NumberFormatException e) {
      throw wrong(text, e);
    }
    throw wrong(text, null);
  }

  private static String unbracketed(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  private static IllegalArgumentException wrong(String text, Throwable cause) {
    return new IllegalArgumentException(
        String.format(Locale.ROOT, "'%s' is not HOST:PORT with a port of 1 to 65535", text), cause);
  }

  /** For picocli. */
  static final class Converter implements ITypeConverter<HostPort> {
    @Override
    public HostPort convert(String text) {
      try {
        return parse(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
