package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class NpyFileTest {
  private static final String FLOATS_2X2 =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";

  @TempDir private Path folder;

  @Test
  void aFileAsNumPyWritesItIsReadAndWrittenBackByteForByte() throws IOException {
    Path file = folder.resolve("x.npy");
    byte[] bytes = file(FLOATS_2X2, 16);
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putFloat(bytes.length - 4, 2.5f);
    Files.write(file, bytes);
    NpyFile array = NpyFile.read(file);
    assertTrue(array.isFloat());
    assertEquals(4, array.length());
    assertEquals(2.5f, array.data().getFloat(12));
    array.write(folder.resolve("y.npy"));
    assertArrayEquals(bytes, Files.readAllBytes(folder.resolve("y.npy")));
  }

  @Test
  void integersScalarsAndEmptyArraysAreRead() throws IOException {
    Path file = folder.resolve("x.npy");
    writeInts(file, 7, -1);
    assertFalse(NpyFile.read(file).isFloat());
    assertEquals(-1, NpyFile.read(file).data().getInt(4));
    Files.write(file, file("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", 4));
    assertEquals(1, NpyFile.read(file).length());
    Files.write(file, file("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }", 0));
    assertEquals(0, NpyFile.read(file).length());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } | 16 | '<f8'",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), } | 8 | '>f4'",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), } | 8 | [(",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), } | 16 | Fortran",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } | 8 | 12 B of elements, it has 8",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } | 8 | 4 B of elements, it has 8",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), } | 8 | negative",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), } | 8 | 99999999999",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), } | 8 | not understood",
        "{'descr': '<f4', 'fortran_order': False} | 8 | no shape in its header",
        "garbage | 8 | no descr in its header"
      })
  void whatIsNotHandledIsRefusedInOneLineWithTheFile(String header, int bytes, String expected)
      throws IOException {
    Path file = folder.resolve("x.npy");
    Files.write(file, file(header, bytes));
    IOException failure = assertThrows(IOException.class, () -> NpyFile.read(file));
    assertTrue(failure.getMessage().contains(expected), failure.getMessage());
    assertTrue(failure.getMessage().contains("x.npy"), failure.getMessage());
    assertEquals(1, failure.getMessage().lines().count());
  }

  @Test
  void everyTruncationOfAFileIsRefused() throws IOException {
    byte[] bytes = file(FLOATS_2X2, 16);
    Path file = folder.resolve("x.npy");
    for (int length = 0; length < bytes.length; length++) {
      Files.write(file, java.util.Arrays.copyOf(bytes, length));
      assertThrows(IOException.class, () -> NpyFile.read(file), "length " + length);
    }
  }

  @Test
  void anOutputThatCannotBeWrittenLeavesNothingBehind() throws IOException {
    Path target = Files.createDirectory(folder.resolve("is-a-folder"));
    Files.createFile(target.resolve("occupied"));
    Path source = folder.resolve("x.npy");
    writeInts(source, 1);
    NpyFile array = NpyFile.read(source);
    IOException failure = assertThrows(IOException.class, () -> array.write(target));
    assertTrue(failure.getMessage().contains("is-a-folder"), failure.getMessage());
    try (var files = Files.list(folder)) {
      assertEquals(2, files.count());
    }
  }

  static void writeInts(Path path, int... values) throws IOException {
    byte[] bytes =
        file(
            "{'descr': '<i4', 'fortran_order': False, 'shape': (" + values.length + ",), }",
            values.length * 4);
    ByteBuffer data = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < values.length; i++) {
      data.putInt(bytes.length - 4 * (values.length - i), values[i]);
    }
    Files.write(path, bytes);
  }

  private static byte[] file(String header, int dataBytes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(header(header));
    out.write(new byte[dataBytes]);
    return out.toByteArray();
  }

  /**
   * Version 1.0: magic, version, length, then the dictionary padded with spaces to a multiple of
   * 64.
   */
  static byte[] header(String dictionary) {
    int total = (10 + dictionary.length() + 1 + 63) / 64 * 64;
    ByteBuffer bytes = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN);
    bytes
        .put((byte) 0x93)
        .put("NUMPY".getBytes(StandardCharsets.US_ASCII))
        .put((byte) 1)
        .put((byte) 0);
    bytes.putShort((short) (total - 10));
    bytes.put(dictionary.getBytes(StandardCharsets.US_ASCII));
    while (bytes.remaining() > 1) {
      bytes.put((byte) ' ');
    }
    return bytes.put((byte) '\n').array();
  }
}
