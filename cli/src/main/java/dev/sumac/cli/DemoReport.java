package dev.sumac.cli;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * What a demo worker tells the demo at its end: named numbers and a histogram, as one line of text.
 * Immutable once parsed.
 *
 * @param numbers name -> value
 * @param latencyNs time of each tensor's AllReduce
 */
record DemoReport(Map<String, Double> numbers, Histogram latencyNs) {
  private static final String PREFIX = "result ";

  double get(String name) {
    return numbers.get(name);
  }

  String toLine() {
    StringBuilder line = new StringBuilder(PREFIX);
    numbers.forEach(
        (name, value) ->
            line.append(name).append('=').append(String.format(Locale.ROOT, "%s ", value)));
    byte[] bytes = new byte[latencyNs.getNeededByteBufferCapacity()];
    int length = latencyNs.encodeIntoCompressedByteBuffer(ByteBuffer.wrap(bytes));
    byte[] used = Arrays.copyOf(bytes, length);
    return line.append("latency=").append(Base64.getEncoder().encodeToString(used)).toString();
  }

  static boolean isLine(String line) {
    return line.startsWith(PREFIX);
  }

  static DemoReport parse(String line) {
    Map<String, Double> numbers = new LinkedHashMap<>();
    Histogram latency = null;
    for (String part : line.substring(PREFIX.length()).split(" ", -1)) {
      int equals = part.indexOf('=');
      String name = part.substring(0, equals);
      String value = part.substring(equals + 1);
      if (name.equals("latency")) {
        try {
          latency =
              Histogram.decodeFromCompressedByteBuffer(
                  ByteBuffer.wrap(Base64.getDecoder().decode(value)), 0);
        } catch (DataFormatException e) {
          throw new IllegalArgumentException("a worker's report can't be read", e);
        }
      } else {
        numbers.put(name, Double.parseDouble(value));
      }
    }
    return new DemoReport(numbers, latency);
  }
}
