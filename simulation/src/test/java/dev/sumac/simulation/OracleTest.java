package dev.sumac.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * That the oracle bites: faults planted in the source of the real code, one at a time, are each
 * found within 2,000 seeds. The changed class is compiled and put in front of the others by a class
 * loader.
 */
final class OracleTest {
  private static final long MOST_SEEDS = 2_000;
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final String DATAPLANE = "switch-dataplane/src/main/java/dev/sumac/dataplane/";
  private static final String WORKER = "worker-lib/src/main/java/dev/sumac/worker/";
  private static final String RELIABILITY = "reliability/src/main/java/dev/sumac/reliability/";
  private static final String PROTOCOL = "protocol/src/main/java/dev/sumac/protocol/";

  static List<Arguments> plantedFaults() {
    return List.of(
        fault(
            "bits are not cleared when a slot is used again",
            Scenario.CALM,
            DATAPLANE + "SlotPool.java",
            "    chunks[entry] = packet.chunk();\n    contributed.clear(entry);\n",
            "    chunks[entry] = packet.chunk();\n"),
        fault(
            "the version is not looked at",
            Scenario.CALM,
            DATAPLANE + "SlotPool.java",
            "(int) (chunk >>> slotBits) & 1",
            "0"),
        fault(
            "the chunk's number is ignored",
            Scenario.REORDER,
            DATAPLANE + "SlotPool.java",
            "if (chunk == chunks[entry] && contributed.count(entry) > 0) {",
            "if (contributed.count(entry) > 0 && !contributed.isFull(entry)) {"),
        fault(
            "a duplicate is added",
            Scenario.DUPLICATE,
            DATAPLANE + "SlotPool.java",
            "if (!contributed.set(entry, rank)) {",
            "if (!contributed.set(entry, rank) && contributed.isFull(entry)) {"),
        fault(
            "a sum is sent before the last rank has contributed",
            Scenario.CALM,
            DATAPLANE + "SwitchMlProgram.java",
            "    if (pool.isComplete(entry)) {",
            "    if (pool.isComplete(entry) || pool.hasContributed(entry, run.worldSize() - 1)) {"),
        fault(
            "a slot is released before every rank has its result",
            Scenario.LOSS,
            WORKER + "Lane.java",
            "boolean isNew = window.accept(packet, now);",
            "boolean isNew = window.accept(packet, now); window.accept(packet + 1, now);"),
        fault(
            "results of an earlier run are taken",
            Scenario.REJOIN,
            WORKER + "Engine.java",
            "\n          || in.run() != run.run()\n          || in.cookie() != run.cookie()\n",
            "\n"),
        fault(
            "a result is taken twice",
            Scenario.DUPLICATE,
            RELIABILITY + "SendWindow.java",
            "if (chunk < 0 || inFlight[slot] != chunk) {",
            "if (chunk < 0 || inFlight[slot] == IDLE) {"),
        fault(
            "check values are not checked",
            Scenario.DAMAGE,
            PROTOCOL + "AggregationHeader.java",
            "return Malformed.WRONG_CHECK_VALUE;",
            "return Malformed.NONE;"),
        fault(
            "ranks that call different things are added up",
            Scenario.MISMATCH,
            DATAPLANE + "SlotPool.java",
            "return operation[entry] == packet.operation()",
            "return chunks[entry] >= 0 || operation[entry] == packet.operation()"),
        fault(
            "slots are not given back",
            Scenario.CALM,
            DATAPLANE + "Admission.java",
            "      freeSlots += run.spec.slots();\n",
            ""),
        fault(
            "survivors are not told of a lost rank",
            Scenario.KILL,
            DATAPLANE + "Admission.java",
            "            .setRankLost(RankLost.newBuilder().setRank(rank).setReason(reason))\n",
            "            .setWaiting(Waiting.getDefaultInstance())\n"),
        fault(
            "nothing is sent again",
            Scenario.LOSS,
            RELIABILITY + "SendWindow.java",
            "    resender.resend(inFlight[slot]);\n",
            ""),
        fault(
            "a repeated contribution to a complete chunk is not answered",
            Scenario.LOSS,
            DATAPLANE + "SwitchMlProgram.java",
            "        sendResult(entry, members.rank(rank));\n",
            ""));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("plantedFaults")
  void aPlantedFaultIsFound(String what, Scenario scenario, String file, String right, String wrong)
      throws Exception {
    String source = Files.readString(ROOT.resolve(file));
    int at = source.indexOf(right);
    assertTrue(at >= 0, file + " has changed: plant the fault anew");
    assertEquals(-1, source.indexOf(right, at + 1), file + " has it twice");
    Map<String, byte[]> classes = compile(file, source.replace(right, wrong));
    try (URLClassLoader loader = new PlantedLoader(classes)) {
      Object report = simulate(loader, scenario.name());
      Object violation = report.getClass().getMethod("violation").invoke(report);
      assertNotNull(violation, "not found in " + MOST_SEEDS + " seeds: " + what);
    }
  }

  private static Arguments fault(
      String what, Scenario scenario, String file, String right, String wrong) {
    return Arguments.of(what, scenario, file, right, wrong);
  }

  private static Object simulate(ClassLoader loader, String scenarioName) throws Exception {
    Class<?> scenarios = loader.loadClass("dev.sumac.simulation.Scenario");
    Object scenario = scenarios.getMethod("valueOf", String.class).invoke(null, scenarioName);
    LongConsumer onProgress = done -> {};
    return loader
        .loadClass("dev.sumac.simulation.Simulator")
        .getMethod("run", scenarios, long.class, long.class, int.class, LongConsumer.class)
        .invoke(null, scenario, 1L, MOST_SEEDS, 2, onProgress);
  }

  private static Map<String, byte[]> compile(String file, String source) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    Map<String, byte[]> classes = new HashMap<>();
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files =
            compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        ClassesInMemory inMemory = new ClassesInMemory(files, classes)) {
      boolean compiled =
          compiler
              .getTask(
                  new PrintWriter(messages),
                  inMemory,
                  null,
                  List.of("--release", "17", "-proc:none", "-classpath", classPath()),
                  null,
                  List.of(new SourceInMemory(file, source)))
              .call();
      assertTrue(compiled, messages.toString());
    }
    return classes;
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  /** Loads our classes anew, the planted ones instead of their originals. */
  private static final class PlantedLoader extends URLClassLoader {
    private final Map<String, byte[]> planted;

    PlantedLoader(Map<String, byte[]> planted) throws IOException {
      super(urls(), OracleTest.class.getClassLoader());
      this.planted = planted;
    }

    private static URL[] urls() throws IOException {
      List<URL> urls = new ArrayList<>();
      for (String part : classPath().split(java.io.File.pathSeparator, -1)) {
        urls.add(Path.of(part).toUri().toURL());
      }
      return urls.toArray(new URL[0]);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("dev.sumac.") || name.startsWith("dev.sumac.protocol.control.")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      byte[] bytes = planted.get(name);
      return bytes == null ? super.findClass(name) : defineClass(name, bytes, 0, bytes.length);
    }
  }

  /** One source file. */
  private static final class SourceInMemory extends SimpleJavaFileObject {
    private final String source;

    SourceInMemory(String file, String source) {
      super(URI.create("memory:///" + file), Kind.SOURCE);
      this.source = source;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return source;
    }
  }

  /** Keeps what the compiler writes. */
  private static final class ClassesInMemory
      extends ForwardingJavaFileManager<StandardJavaFileManager> {
    private final Map<String, byte[]> classes;

    ClassesInMemory(StandardJavaFileManager files, Map<String, byte[]> classes) {
      super(files);
      this.classes = classes;
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        JavaFileManager.Location location,
        String className,
        JavaFileObject.Kind kind,
        FileObject sibling) {
      return new SimpleJavaFileObject(URI.create("memory:///" + className), kind) {
        @Override
        public java.io.OutputStream openOutputStream() {
          return new ByteArrayOutputStream() {
            @Override
            public void close() {
              classes.put(className, toByteArray());
            }
          };
        }
      };
    }
  }
}
