package dev.sumac.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One array in NumPy's .npy format (numpy.lib.format, versions 1.0 to 3.0): little-endian float32
 * or int32 in C order. Immutable but for the array.
 *
 * @param header the header's dictionary, as it stood in the file
 * @param data the elements, little endian, from position 0
 * @param isFloat whether they are float32; else int32
 */
record NpyFile(String header, ByteBuffer data, boolean isFloat) {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final Pattern DESCR = Pattern.compile("'descr'\\s*:\\s*('[^']*'|\\[.*?\\])");
  private static final Pattern ORDER = Pattern.compile("'fortran_order'\\s*:\\s*(True|False)");
  private static final Pattern SHAPE = Pattern.compile("'shape'\\s*:\\s*\\(([^)]*)\\)");
  private static final int ALIGNMENT = 64;

  /** Number of elements. */
  int length() {
    return data.capacity() / Integer.BYTES;
  }

  /**
   * Reads a whole file.
   *
   * @throws IOException with one line that names the file and what is wrong with it
   */
  static NpyFile read(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      return read(path, channel);
    } catch (NoSuchFileException e) {
      throw new IOException(path + ": no such file", e);
    }
  }

  private static NpyFile read(Path path, FileChannel channel) throws IOException {
    ByteBuffer prefix = readFully(path, channel, 12, Math.min(12, channel.size()));
    for (int i = 0; i < MAGIC.length; i++) {
      if (prefix.limit() < 12 || prefix.get(i) != MAGIC[i]) {
        throw new IOException(path + ": not a .npy file");
      }
    }
    int version = prefix.get(6);
    if (version < 1 || version > 3) {
      throw new IOException(path + ": .npy version " + version + " (1 to 3 are known)");
    }
    int lengthBytes = version == 1 ? 2 : 4;
    long headerBytes = version == 1 ? prefix.getShort(8) & 0xFFFF : prefix.getInt(8) & 0xFFFF_FFFFL;
    int dataAt = (int) Math.min(channel.size(), 8 + lengthBytes + headerBytes);
    channel.position(8 + lengthBytes);
    ByteBuffer headerBuffer = readFully(path, channel, headerBytes, dataAt - 8L - lengthBytes);
    String header = StandardCharsets.UTF_8.decode(headerBuffer).toString().strip();
    boolean isFloat = isFloat(path, find(path, DESCR, header));
    if (find(path, ORDER, header).equals("True")) {
      throw new IOException(path + ": Fortran order; save it with numpy.ascontiguousarray");
    }
    long elements = elements(path, find(path, SHAPE, header));
    long bytes = elements * Integer.BYTES;
    if (elements > Integer.MAX_VALUE / Integer.BYTES) {
      throw new IOException(
          path + ": " + elements + " elements, at most " + Integer.MAX_VALUE / Integer.BYTES);
    }
    if (channel.size() - dataAt != bytes) {
      throw new IOException(
          path
              + ": its header says "
              + bytes
              + " B of elements, it has "
              + (channel.size() - dataAt));
    }
    channel.position(dataAt);
    return new NpyFile(header, readFully(path, channel, bytes, bytes), isFloat);
  }

  /**
   * Writes a file with the same header, whole or not at all: beside the target first, then moved
   * there.
   *
   * @throws IOException with one line that names the file
   */
  void write(Path path) throws IOException {
    Path absolute = path.toAbsolutePath();
    Path beside = null;
    try {
      beside = Files.createTempFile(absolute.getParent(), "." + absolute.getFileName(), ".part");
      try (OutputStream out = Files.newOutputStream(beside)) {
        out.write(headerBytes());
      }
      try (FileChannel channel = FileChannel.open(beside, StandardOpenOption.APPEND)) {
        ByteBuffer from = data.duplicate().rewind();
        while (from.hasRemaining()) {
          channel.write(from);
        }
        channel.force(false);
      }
      Files.move(
          beside, absolute, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      if (beside != null) {
        Files.deleteIfExists(beside);
      }
      throw new IOException(path + ": can't be written: " + describe(e), e);
    }
  }

  private static String describe(IOException e) {
    return e.getClass().getSimpleName().replace("Exception", "") + " " + e.getMessage();
  }

  private byte[] headerBytes() {
    byte[] text = header.getBytes(StandardCharsets.UTF_8);
    int unpadded = 10 + text.length + 1;
    int total = (unpadded + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    boolean isLong = total - 10 > 0xFFFF;
    int prefix = isLong ? 12 : 10;
    total = (prefix + text.length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    ByteBuffer bytes = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put(MAGIC).put((byte) (isLong ? 2 : 1)).put((byte) 0);
    if (isLong) {
      bytes.putInt(total - prefix);
    } else {
      bytes.putShort((short) (total - prefix));
    }
    bytes.put(text);
    while (bytes.remaining() > 1) {
      bytes.put((byte) ' ');
    }
    bytes.put((byte) '\n');
    return bytes.array();
  }

  private static boolean isFloat(Path path, String descr) throws IOException {
    return switch (descr) {
      case "'<f4'" -> true;
      case "'<i4'" -> false;
      default ->
          throw new IOException(
              path
                  + ": elements of type "
                  + descr
                  + "; '<f4' (float32) and '<i4' (int32) are handled");
    };
  }

  private static long elements(Path path, String shape) throws IOException {
    long product = 1;
    try {
      for (String dimension : shape.split(",", -1)) {
        if (!dimension.isBlank()) {
          product = Math.multiplyExact(product, Long.parseLong(dimension.strip()));
        }
      }
    } catch (NumberFormatException | ArithmeticException e) {
      throw new IOException(path + ": shape (" + shape + ") is not understood", e);
    }
    if (product < 0) {
      throw new IOException(path + ": shape (" + shape + ") is negative");
    }
    return product;
  }

  private static String find(Path path, Pattern pattern, String header) throws IOException {
    Matcher matcher = pattern.matcher(header);
    if (!matcher.find()) {
      throw new IOException(
          String.format(
              Locale.ROOT, "%s: no %s in its header", path, pattern.pattern().split("'", -1)[1]));
    }
    return matcher.group(1);
  }

  private static ByteBuffer readFully(Path path, FileChannel channel, long bytes, long available)
      throws IOException {
    if (bytes > available && bytes != 12) {
      throw new IOException(path + ": ends in its header");
    }
    ByteBuffer buffer = ByteBuffer.allocateDirect((int) available).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new IOException(path + ": ends early");
      }
    }
    return buffer.flip();
  }
}
