package dev.sumac.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.sumac.dataplane.AggregationSwitch;
import dev.sumac.dataplane.SwitchConfig;
import dev.sumac.protocol.control.StatusReply;
import dev.sumac.worker.Communicator;
import dev.sumac.worker.CommunicatorConfig;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Real processes: killed, stopped, restarted, on other JDKs and under other locales. */
@Timeout(200)
final class ProcessTest {
  @TempDir private Path folder;

  /** The switch is in this process; each worker is one of its own. */
  private static AggregationSwitch startSwitch(int slots) throws IOException {
    return AggregationSwitch.start(SwitchConfig.builder().port(0).slots(slots).build());
  }

  private static Processes.Run worker(
      Processes processes, int port, String job, int rank, int world, String... more)
      throws IOException {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "soak-worker",
                "--switch",
                "127.0.0.1:" + port,
                "--job",
                job,
                "--rank",
                "" + rank,
                "--world",
                "" + world,
                "--operations",
                "1000000",
                // A busy machine must not turn a lost rank into a late one.
                "--timeout",
                "60"));
    arguments.addAll(more.length == 0 ? List.of("--openings", "1") : List.of(more));
    return processes.sumac(arguments.toArray(new String[0]));
  }

  private static List<Processes.Run> job(Processes processes, int port, String job, int world)
      throws Exception {
    List<Processes.Run> runs = new ArrayList<>();
    for (int rank = 0; rank < world; rank++) {
      runs.add(worker(processes, port, job, rank, world));
    }
    for (Processes.Run run : runs) {
      run.awaitLine(SoakWorkerCommand.PROGRESS);
    }
    return runs;
  }

  private static StatusReply status(AggregationSwitch target) {
    return SwitchStatus.of(new HostPort("127.0.0.1", target.port()));
  }

  private static void awaitFree(AggregationSwitch target, int slots) throws Exception {
    Conditions.await(slots + " slots free", () -> status(target).getSlotsFree() == slots);
  }

  @Test
  @Tag("case-20")
  @Tag("case-36")
  void aKilledWorkerIsNamedToTheOthersItsSlotsComeBackAndTheNextJobStarts() throws Exception {
    try (AggregationSwitch target = startSwitch(64);
        Processes processes = new Processes()) {
      List<Processes.Run> runs = job(processes, target.port(), "killed", 4);
      runs.get(2).signal("KILL");
      for (int rank : new int[] {0, 1, 3}) {
        assertTrue(
            runs.get(rank).awaitLine("failed ").startsWith("rank 2 lost: "),
            runs.get(rank).output());
        assertEquals(0, runs.get(rank).awaitExit(10));
      }
      awaitFree(target, 64);
      assertAllSlotsServe(target);
    }
  }

  /** A world of one in this process, which asks for all 64 slots of a switch that runs already. */
  private static void assertAllSlotsServe(AggregationSwitch target) {
    try (Communicator communicator =
        Communicator.open(
            CommunicatorConfig.builder()
                .switchAddress("127.0.0.1", target.port())
                .job("next")
                .window(64)
                .build())) {
      assertEquals(64, communicator.window());
      int[] values = {7};
      communicator.allReduce(values);
      assertEquals(7, values[0]);
    }
  }

  @Test
  @Tag("case-36")
  @Tag("slow")
  @Timeout(600)
  void tenJobsThatWereKilledLeaveEverySlotToTheNext() throws Exception {
    killJobs(10);
  }

  private static void killJobs(int times) throws Exception {
    try (AggregationSwitch target = startSwitch(64);
        Processes processes = new Processes()) {
      for (int i = 0; i < times; i++) {
        for (Processes.Run run : job(processes, target.port(), "job" + i, 1)) {
          run.signal("KILL");
        }
      }
      awaitFree(target, 64);
      assertAllSlotsServe(target);
    }
  }

  @Test
  @Tag("case-23")
  @Tag("slow")
  void survivorsOfTwoKilledWorkersAllEndInTheDocumentedWay() throws Exception {
    killTwoOfFour(1);
  }

  @Test
  @Tag("case-23")
  @Tag("slow")
  @Timeout(1_800)
  void survivorsOfTwoKilledWorkersAllEndInTheDocumentedWayAHundredTimes() throws Exception {
    killTwoOfFour(100);
  }

  private static void killTwoOfFour(int times) throws Exception {
    for (int seed = 1; seed <= times; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      try (AggregationSwitch target = startSwitch(512);
          Processes processes = new Processes()) {
        List<Processes.Run> runs = job(processes, target.port(), "two", 4);
        int first = random.nextInt(4);
        int second = (first + 1 + random.nextInt(3)) % 4;
        TimeUnit.MICROSECONDS.sleep(random.nextInt(50_000)); // The moment is what is random.
        runs.get(first).signal("KILL");
        runs.get(second).signal("KILL");
        for (int rank = 0; rank < 4; rank++) {
          if (rank != first && rank != second) {
            String words = runs.get(rank).awaitLine("failed ");
            assertTrue(
                words.startsWith("rank " + first + " lost: ")
                    || words.startsWith("rank " + second + " lost: "),
                "seed " + seed + ": " + words);
            assertEquals(0, runs.get(rank).awaitExit(10), "seed " + seed);
            assertFalse(runs.get(rank).output().contains("Exception"), runs.get(rank).output());
          }
        }
      }
    }
  }

  @Test
  @Tag("case-30")
  @Tag("slow")
  void aWorkerThatIsStoppedForAMomentIsNotTakenForDead() throws Exception {
    try (AggregationSwitch target = startSwitch(512);
        Processes processes = new Processes()) {
      List<Processes.Run> runs = job(processes, target.port(), "paused", 2);
      pause(runs.get(1), 400_000_000L); // Twenty retransmission timeouts at their floor, and some.
      assertGoOn(runs);
    }
  }

  @Test
  @Tag("case-30")
  @Tag("slow")
  void aWorkerThatIsStoppedForTooLongIsNamedAndIsToldOnceWhenItWakes() throws Exception {
    try (AggregationSwitch target = startSwitch(512);
        Processes processes = new Processes()) {
      List<Processes.Run> runs = job(processes, target.port(), "stopped", 3);
      runs.get(1).signal("STOP");
      for (int rank : new int[] {0, 2}) {
        assertTrue(
            runs.get(rank).awaitLine("failed ").startsWith("rank 1 lost: "),
            runs.get(rank).output());
      }
      awaitFree(target, 512);
      runs.get(1).signal("CONT");
      runs.get(1).awaitLine("failed ");
      assertEquals(0, runs.get(1).awaitExit(10));
      assertEquals(
          1,
          runs.get(1).lines().stream().filter(line -> line.startsWith("failed ")).count(),
          runs.get(1).output());
      assertFalse(runs.get(1).output().contains("Exception"), runs.get(1).output());
      assertTrue(
          runs.get(1).output().contains("longer than 4 s removes a rank from its run"),
          runs.get(1).output());
    }
  }

  @Test
  @Tag("case-30")
  @Tag("slow")
  void aSwitchThatIsStoppedForAMomentIsNotTakenForDead() throws Exception {
    try (Processes processes = new Processes()) {
      Processes.Run theSwitch = processes.startSwitch();
      int port = HostPort.parse(theSwitch.awaitLine("ready ")).port();
      List<Processes.Run> runs = job(processes, port, "paused", 2);
      pause(theSwitch, 400_000_000L);
      assertGoOn(runs);
    }
  }

  @Test
  @Tag("case-30")
  @Tag("slow")
  void aSwitchThatIsStoppedForTooLongIsLostToAllOnceAndTakesThemAgainWhenItWakes()
      throws Exception {
    try (Processes processes = new Processes()) {
      Processes.Run theSwitch = processes.startSwitch();
      int port = HostPort.parse(theSwitch.awaitLine("ready ")).port();
      List<Processes.Run> runs = job(processes, port, "stopped", 2);
      theSwitch.signal("STOP");
      for (Processes.Run run : runs) {
        run.awaitLine("failed ");
        assertEquals(0, run.awaitExit(10));
        assertEquals(
            1,
            run.lines().stream().filter(line -> line.startsWith("failed ")).count(),
            run.output());
        assertFalse(run.output().contains("Exception"), run.output());
      }
      theSwitch.signal("CONT");
      HostPort address = new HostPort("127.0.0.1", port);
      Conditions.await("the run is over", () -> SwitchStatus.of(address).getJobsCount() == 0);
      assertGoOn(job(processes, port, "stopped", 2));
    }
  }

  /** A collection of everything in every process, while they work. */
  @Test
  @Tag("case-30")
  @Tag("slow")
  void forcedCollectionsStopNobody() throws Exception {
    Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
    assumeTrue(Files.isExecutable(jcmd), "no jcmd in this JDK: nothing can force a collection");
    try (Processes processes = new Processes()) {
      Processes.Run theSwitch = processes.startSwitch();
      int port = HostPort.parse(theSwitch.awaitLine("ready ")).port();
      List<Processes.Run> runs = job(processes, port, "collected", 2);
      for (Processes.Run run : List.of(theSwitch, runs.get(0), runs.get(1))) {
        Processes.Run forced =
            processes.start(List.of(jcmd.toString(), "" + run.pid(), "GC.run"), Map.of());
        assertEquals(0, forced.awaitExit(30), forced.output());
      }
      assertGoOn(runs);
    }
  }

  private static void pause(Processes.Run run, long ns) throws Exception {
    run.signal("STOP");
    long stoppedNs = System.nanoTime();
    Conditions.await("the pause is over", () -> System.nanoTime() - stoppedNs > ns);
    run.signal("CONT");
  }

  private static void assertGoOn(List<Processes.Run> runs) throws Exception {
    for (Processes.Run run : runs) {
      int before = run.lines().size();
      Conditions.await("progress", () -> run.lines().size() > before + 2 || !run.isAlive());
      assertTrue(run.isAlive(), run.output());
      assertFalse(run.output().contains("failed"), run.output());
    }
  }

  @Test
  @Tag("case-19")
  @Tag("slow")
  void aThousandOpeningsNeedFewDescriptors() throws Exception {
    try (Processes processes = new Processes()) {
      String few = "ulimit -n 256";
      Processes.Run theSwitch =
          processes.after(few, "switch", "--bind", "127.0.0.1", "--port", "0");
      HostPort address = HostPort.parse(theSwitch.awaitLine("ready "));
      Processes.Run worker =
          processes.after(
              few,
              "soak-worker",
              "--switch",
              "127.0.0.1:" + address.port(),
              "--rank",
              "0",
              "--world",
              "1",
              "--openings",
              "1000",
              "--operations",
              "1");
      assertEquals(0, worker.awaitExit(150), worker.output());
      assertFalse(worker.output().contains("failed"), worker.output());
      assertTrue(theSwitch.isAlive(), theSwitch.output());
    }
  }

  @Test
  @Tag("case-35")
  @Tag("case-42")
  @Tag("slow")
  void aKilledSwitchStartsAtOnceOnItsPortAndEveryRankIsToldAlike() throws Exception {
    killSwitch(2);
  }

  @Test
  @Tag("case-35")
  @Tag("case-42")
  @Tag("slow")
  @Timeout(1_800)
  void aKilledSwitchStartsAtOnceOnItsPortAHundredTimes() throws Exception {
    killSwitch(100);
  }

  private static int freePort() throws IOException {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return free.getLocalPort();
    }
  }

  private static void killSwitch(int times) throws Exception {
    int port = freePort();
    try (Processes processes = new Processes()) {
      // They live through every death of the switch: each opens again.
      List<Processes.Run> workers = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        workers.add(worker(processes, port, "lives on", rank, 2, "--openings", "0"));
      }
      for (int life = 0; life < times; life++) {
        Processes.Run running =
            processes.sumac("switch", "--bind", "127.0.0.1", "--port", "" + port);
        running.awaitLine("ready ");
        List<Integer> before = workers.stream().map(run -> run.lines().size()).toList();
        for (int rank = 0; rank < 2; rank++) {
          Processes.Run run = workers.get(rank);
          int lines = before.get(rank);
          Conditions.await(
              "operations in life " + life,
              () ->
                  run.lines().stream()
                          .skip(lines)
                          .filter(line -> line.startsWith(SoakWorkerCommand.PROGRESS))
                          .count()
                      > 2);
        }
        running.signal("KILL");
        running.awaitExit(5);
        int lives = life + 1;
        for (Processes.Run run : workers) {
          Conditions.await(
              "told of death " + lives,
              () ->
                  run.lines().stream()
                          .filter(line -> line.contains("the connection to the switch broke"))
                          .count()
                      >= lives);
        }
      }
      for (Processes.Run run : workers) {
        assertTrue(run.isAlive(), run.output());
        assertFalse(run.output().contains("wrong sum"), run.output());
      }
    }
  }

  @Test
  @Tag("case-43")
  @Tag("slow")
  void twoJobsFinishBesideEachOther() throws Exception {
    Path one = folder.resolve("one.npy");
    NpyFileTest.writeInts(one, 1, 2, 3);
    try (AggregationSwitch target = startSwitch(2_048);
        Processes processes = new Processes()) {
      List<Processes.Run> runs = new ArrayList<>();
      for (String job : List.of("first", "second")) {
        for (int rank = 0; rank < 2; rank++) {
          runs.add(
              processes.sumac(
                  allReduce(
                      target.port(), rank, 2, one, folder.resolve(job + rank), "--job", job)));
        }
      }
      for (Processes.Run run : runs) {
        assertEquals(0, run.awaitExit(60), run.output());
      }
      for (String name : List.of("first0", "first1", "second0", "second1")) {
        Path expected = folder.resolve("sum.npy");
        NpyFileTest.writeInts(expected, 2, 4, 6);
        assertArrayEquals(
            Files.readAllBytes(expected), Files.readAllBytes(folder.resolve(name)), name);
      }
    }
  }

  private static String[] allReduce(
      int port, int rank, int world, Path input, Path output, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "allreduce",
                "--switch",
                "127.0.0.1:" + port,
                "--rank",
                "" + rank,
                "--world",
                "" + world,
                "--input",
                input.toString(),
                "--output",
                output.toString(),
                // Cold JVMs on a busy machine take long to say their first word.
                "--timeout",
                "100"));
    arguments.addAll(List.of(more));
    return arguments.toArray(new String[0]);
  }

  @Test
  @Tag("case-72")
  void aWorkerEndsOnASignalItsPeersAreToldAndNoOutputIsLeft() throws Exception {
    signal("TERM", 143);
  }

  @Test
  @Tag("case-72")
  @Tag("slow")
  void aWorkerEndsOnControlCAsWell() throws Exception {
    signal("INT", 130);
  }

  private void signal(String signal, int code) throws Exception {
    Path one = folder.resolve("one.npy");
    NpyFileTest.writeInts(one, 1);
    try (AggregationSwitch target = startSwitch(2_048);
        Processes processes = new Processes()) {
      Processes.Run waits =
          processes.sumac(allReduce(target.port(), 0, 2, one, folder.resolve("no")));
      Conditions.await("rank 0 waits", () -> status(target).getJobsCount() == 1);
      Processes.Run joins = worker(processes, target.port(), "signalled", 0, 2);
      Processes.Run peer = worker(processes, target.port(), "signalled", 1, 2);
      joins.awaitLine(SoakWorkerCommand.PROGRESS);
      peer.awaitLine(SoakWorkerCommand.PROGRESS);
      long startNs = System.nanoTime();
      for (Processes.Run run : List.of(waits, joins)) {
        run.signal(signal);
        run.signal(signal);
      }
      assertTrue(peer.awaitLine("failed ").startsWith("rank 0 lost: "), peer.output());
      assertTrue(System.nanoTime() - startNs < 4_000_000_000L, "peers told in time");
      assertEquals(code, waits.awaitExit(5));
      assertEquals(code, joins.awaitExit(5));
      assertFalse(Files.exists(folder.resolve("no")));
      awaitFree(target, 2_048);
    }
  }

  @Test
  @Tag("case-72")
  void aSwitchEndsOnTermWithItsCodeAndItsPortIsFree() throws Exception {
    try (Processes processes = new Processes()) {
      Processes.Run running = processes.startSwitch();
      int port = HostPort.parse(running.awaitLine("ready ")).port();
      Processes.Run worker = worker(processes, port, "served", 0, 1);
      worker.awaitLine(SoakWorkerCommand.PROGRESS);
      running.signal("TERM");
      running.signal("TERM");
      worker.awaitLine("failed ");
      assertEquals(143, running.awaitExit(5));
      AggregationSwitch.start(SwitchConfig.builder().port(port).build()).close();
    }
  }

  /** What {@code nohup} and a shell's {@code &} leave ignored stays ignored; TERM still ends it. */
  @Test
  @Tag("case-72")
  @Tag("slow")
  void ignoredSignalsStayIgnored() throws Exception {
    try (Processes processes = new Processes()) {
      Processes.Run theSwitch =
          processes.after("trap '' INT HUP", "switch", "--bind", "127.0.0.1", "--port", "0");
      int port = HostPort.parse(theSwitch.awaitLine("ready ")).port();
      theSwitch.signal("INT");
      theSwitch.signal("HUP");
      assertGoOn(job(processes, port, "hears nothing", 1));
      theSwitch.signal("TERM");
      assertEquals(143, theSwitch.awaitExit(5), theSwitch.output());
    }
  }

  @Test
  @Tag("case-42")
  @Tag("slow")
  void aPortThatNeedsRightsIsNamed() throws Exception {
    Path lowest = Path.of("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    assumeTrue(
        Files.exists(lowest) && Integer.parseInt(Files.readString(lowest).trim()) > 80,
        "anybody may bind port 80 here");
    try (Processes processes = new Processes()) {
      List<String> command = asNobody(List.of());
      command.addAll(List.of("switch", "--bind", "127.0.0.1", "--port", "80"));
      Processes.Run run = processes.start(command, Map.of());
      assertEquals(1, run.awaitExit(30), run.output());
      assertEquals(1, run.lines().size(), run.output());
      assertTrue(run.output().contains("port 80"), run.output());
    }
  }

  /** A million packets of nobody leave few lines. */
  @Test
  @Tag("case-65")
  @Tag("slow")
  void aMillionBadPacketsAreAFewLines() throws Exception {
    try (Processes processes = new Processes();
        DatagramSocket stranger = new DatagramSocket()) {
      int port = freePort(); // For control (TCP) and data (UDP).
      Processes.Run theSwitch =
          processes.sumac("switch", "--bind", "127.0.0.1", "--port", "" + port);
      HostPort address = HostPort.parse(theSwitch.awaitLine("ready "));
      SplittableRandom random = new SplittableRandom(65);
      byte[] bytes = new byte[64];
      long startNs = System.nanoTime();
      for (int sent = 0; sent < 1_000_000; sent++) {
        random.nextBytes(bytes);
        if (sent % 2 == 0) {
          bytes[8] = 'S';
          bytes[9] = 'M';
        }
        stranger.send(
            new DatagramPacket(bytes, bytes.length, InetAddress.getLoopbackAddress(), port));
      }
      long seconds = (System.nanoTime() - startNs) / 1_000_000_000 + 1;
      StatusReply status = SwitchStatus.of(address);
      long counted =
          status.getCountersMap().entrySet().stream()
              .filter(count -> count.getKey().startsWith("malformed-"))
              .mapToLong(Map.Entry::getValue)
              .sum();
      assertTrue(counted > 10_000, status.getCountersMap().toString());
      long reasons =
          status.getCountersMap().entrySet().stream()
              .filter(count -> count.getKey().startsWith("malformed-") && count.getValue() > 0)
              .count();
      assertTrue(
          theSwitch.lines().size() <= (seconds + 2) * reasons + 5,
          seconds + " s, " + reasons + " reasons: " + theSwitch.output());
      assertTrue(theSwitch.output().length() < 1_000_000);
    }
  }

  /** The JDKs of this machine from 17 on. */
  static List<String> jdks() throws IOException {
    try (Stream<Path> folders = Files.list(Path.of("/usr/lib/jvm"))) {
      return folders
          .filter(jdk -> Files.isExecutable(jdk.resolve("bin/javac")))
          .filter(jdk -> !Files.isSymbolicLink(jdk))
          .map(Path::toString)
          .sorted()
          .toList();
    }
  }

  @ParameterizedTest
  @Tag("case-67")
  @MethodSource("jdks")
  void everyJdkPrintsNothingButItsResults(String jdk) throws Exception {
    smokeTest(jdk, List.of(), Map.of(), "sum");
  }

  @ParameterizedTest
  @Tag("case-67")
  @MethodSource("jdks")
  @Tag("slow")
  void anotherCollectorAndStrictNativeAccessChangeNothing(String jdk) throws Exception {
    assumeTrue(jdk.contains("25"));
    smokeTest(
        jdk,
        List.of("-XX:-UseSerialGC", "-XX:+UseZGC", "--illegal-native-access=deny"),
        Map.of(),
        "sum");
  }

  @ParameterizedTest
  @Tag("case-68")
  @Tag("slow")
  @CsvSource({"de, DE, C.UTF-8", "ar, EG, C.UTF-8", "en, US, C"})
  void noLocaleChangesWordsOrNumbers(String language, String country, String lang)
      throws Exception {
    smokeTest(
        System.getProperty("java.home"),
        List.of("-Duser.language=" + language, "-Duser.country=" + country),
        Map.of("LC_ALL", lang),
        "min");
  }

  @Test
  @Tag("case-68")
  void turkishChangesNoWord() throws Exception {
    noLocaleChangesWordsOrNumbers("tr", "TR", "C.UTF-8");
  }

  /** One rank of one reduces a file; what it prints is compared. */
  private void smokeTest(
      String jdk, List<String> options, Map<String, String> environment, String op)
      throws Exception {
    Path input = folder.resolve("in.npy");
    NpyFileTest.writeInts(input, 1, -2, 3);
    try (AggregationSwitch target = startSwitch(512);
        Processes processes = new Processes()) {
      Path output = folder.resolve("out.npy");
      Processes.Run run =
          processes.sumac(
              jdk, options, environment, allReduce(target.port(), 0, 1, input, output, "--op", op));
      assertEquals(0, run.awaitExit(60), run.output());
      assertArrayEquals(Files.readAllBytes(input), Files.readAllBytes(output));
      List<String> lines =
          run.lines().stream().filter(line -> !line.contains("UDP receive buffer is")).toList();
      assertEquals(1, lines.size(), run.output());
      String expected =
          "rank 0: "
              + op.toUpperCase(Locale.ROOT)
              + " of 3 x int32 over 1 ranks in \\d+\\.\\d{3} s, \\d+ packets sent, \\d+ of them again -> "
              + output;
      assertTrue(lines.get(0).matches(expected), lines.get(0));
    }
  }

  /**
   * Nobody's user, no home, no folder for temporary files, little memory, one processor, few
   * threads.
   */
  @Test
  @Tag("case-71")
  @Tag("slow")
  void aWorkerNeedsNoRights() throws Exception {
    Path one = folder.resolve("one.npy");
    NpyFileTest.writeInts(one, 4);
    try (AggregationSwitch target = startSwitch(512);
        Processes processes = new Processes()) {
      List<String> command = asNobody(List.of("-Djava.io.tmpdir=/nonexistent", "-Xmx128m"));
      Path output = folder.resolve("open/out.npy");
      command.addAll(List.of(allReduce(target.port(), 0, 1, one, output)));
      Processes.Run run = processes.start(command, Map.of("HOME", "/nonexistent"));
      assertEquals(0, run.awaitExit(60), run.output());
      assertArrayEquals(Files.readAllBytes(one), Files.readAllBytes(output));
    }
  }

  /**
   * The command as user 65534 with 64 processes and threads at most; what follows are arguments.
   */
  private List<String> asNobody(List<String> options) throws IOException {
    assumeTrue(
        "root".equals(System.getProperty("user.name"))
            && Files.isExecutable(Path.of("/usr/bin/setpriv")),
        "only root can become nobody, with setpriv");
    Path open = Files.createDirectory(folder.resolve("open"));
    assertTrue(
        open.toFile().setWritable(true, false)
            && folder.toFile().setExecutable(true, false)
            && folder.toFile().setReadable(true, false));
    List<String> command =
        new ArrayList<>(
            List.of(
                "prlimit",
                "--nproc=64",
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                System.getProperty("java.home") + "/bin/java",
                "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+IgnoreUnrecognizedVMOptions",
                "--sun-misc-unsafe-memory-access=allow",
                "-XX:ActiveProcessorCount=1"));
    command.addAll(options);
    command.addAll(List.of("-cp", readableClassPath(open), "dev.sumac.cli.Sumac"));
    return command;
  }

  /** The class path may lie where only its owner reads: a copy for everybody. */
  private static String readableClassPath(Path target) throws IOException {
    List<String> parts = new ArrayList<>();
    for (String part : System.getProperty("java.class.path").split(":", -1)) {
      Path from = Path.of(part);
      if (part.isEmpty() || !Files.exists(from) || part.contains("test-classes")) {
        continue;
      }
      Path to = target.resolve(parts.size() + "-" + from.getFileName());
      try (Stream<Path> files = Files.walk(from)) {
        for (Path file : files.toList()) {
          Path copy = to.resolve(from.relativize(file).toString());
          Path place = file.equals(from) ? to : copy;
          if (Files.isDirectory(file)) {
            Files.createDirectories(place);
            continue;
          }
          Files.copy(file, place);
        }
      }
      parts.add(to.toString());
    }
    return String.join(":", parts);
  }

  @Test
  @Tag("case-52")
  @Tag("slow")
  void aQuietSwitchAndAWaitingWorkerUseUnderFivePercentOfACore() throws Exception {
    idle(3);
  }

  @Test
  @Tag("case-52")
  @Tag("slow")
  @Timeout(300)
  void aQuietSwitchAndAWaitingWorkerUseUnderFivePercentOfACoreForAMinute() throws Exception {
    idle(60);
  }

  private void idle(int seconds) throws Exception {
    Path one = folder.resolve("one.npy");
    NpyFileTest.writeInts(one, 1);
    try (Processes processes = new Processes()) {
      Processes.Run running = processes.startSwitch();
      int port = HostPort.parse(running.awaitLine("ready ")).port();
      // Rank 1 joins and calls nothing: rank 0 waits in its call.
      try (RawWorker quiet = new RawWorker(port, "default", 1, 2)) {
        Processes.Run waits = processes.sumac(allReduce(port, 0, 2, one, folder.resolve("out")));
        quiet.awaitStart();
        long warmNs = System.nanoTime();
        Conditions.await("warm", () -> System.nanoTime() - warmNs > 2_000_000_000L);
        double switchBefore = cpuSeconds(running.pid());
        double workerBefore = cpuSeconds(waits.pid());
        long startNs = System.nanoTime();
        Conditions.await(
            "time", 400_000_000_000L, () -> System.nanoTime() - startNs > seconds * 1_000_000_000L);
        double tookSeconds = (System.nanoTime() - startNs) / 1e9;
        double switchShare = (cpuSeconds(running.pid()) - switchBefore) / tookSeconds;
        double workerShare = (cpuSeconds(waits.pid()) - workerBefore) / tookSeconds;
        String shares =
            "switch %.2f %%, waiting worker %.2f %% of a core"
                .formatted(100 * switchShare, 100 * workerShare);
        System.out.println(shares);
        assertTrue(switchShare < 0.05 && workerShare < 0.05, shares);
      }
    }
  }

  /** Processor time of a process, from fields 14 and 15 of its stat (proc(5)), at 100 ticks/s. */
  private static double cpuSeconds(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / 100.0;
  }

  @Test
  @Tag("slow")
  void halfAMinuteOfSoakEndsWell() throws Exception {
    try (Processes processes = new Processes()) {
      Processes.Run run =
          processes.sumac("soak", "--minutes", "0.2", "--sample", "2", "--kill", "3");
      assertEquals(0, run.awaitExit(190), run.output());
      assertTrue(run.output().endsWith("soak: all good"), run.output());
    }
  }
}
