package dev.sumac.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.security.SecureRandom;

/**
 * The arrows of docs/architecture.md: a room that reaches for another one's inside breaks the
 * build.
 */
@AnalyzeClasses(packages = "dev.sumac", importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {
  private static final String PROTOCOL = "dev.sumac.protocol..";
  private static final String RELIABILITY = "dev.sumac.reliability..";

  @ArchTest
  static final ArchRule arrowsPointOneWay =
      layeredArchitecture()
          .consideringOnlyDependenciesInLayers()
          .layer("protocol")
          .definedBy(PROTOCOL)
          .layer("reliability")
          .definedBy(RELIABILITY)
          .layer("transport")
          .definedBy("dev.sumac.transport..")
          .layer("switch")
          .definedBy("dev.sumac.dataplane..")
          .layer("worker")
          .definedBy("dev.sumac.worker..")
          .layer("simulation")
          .definedBy("dev.sumac.simulation..")
          .layer("cli")
          .definedBy("dev.sumac.cli..")
          .whereLayer("cli")
          .mayNotBeAccessedByAnyLayer()
          .whereLayer("simulation")
          .mayOnlyBeAccessedByLayers("cli")
          .whereLayer("worker")
          .mayOnlyBeAccessedByLayers("simulation", "cli")
          .whereLayer("switch")
          .mayOnlyBeAccessedByLayers("simulation", "cli")
          .whereLayer("transport")
          .mayOnlyBeAccessedByLayers("switch", "worker", "simulation", "cli")
          .whereLayer("reliability")
          .mayOnlyBeAccessedByLayers("transport", "switch", "worker", "simulation", "cli");

  @ArchTest
  static final ArchRule protocolAndReliabilityDoNoInputOrOutput =
      noClasses()
          .that()
          .resideInAnyPackage("dev.sumac.protocol", RELIABILITY)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.netty..",
              "io.grpc..",
              "java.net..",
              "java.io..",
              "java.nio.file..",
              "java.nio.channels..")
          .because(
              "what crosses a wire and what survives loss must run under any network and clock");

  @ArchTest
  static final ArchRule protocolAndReliabilityHaveNoClock =
      noClasses()
          .that()
          .resideInAnyPackage("dev.sumac.protocol", RELIABILITY)
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage("java.time..")
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(Thread.class)
          .because("time comes in as an argument");

  @ArchTest
  static final ArchRule onlyTransportKnowsNetty =
      noClasses()
          .that()
          .resideOutsideOfPackage("dev.sumac.transport..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.netty..")
          .because("the data path behind Outbox and DatagramListener must be exchangeable");

  @ArchTest
  static final ArchRule stateMachinesOwnNoThreadAndNoClock =
      noClasses()
          .that()
          .haveNameMatching(
              "dev\\.sumac\\.(dataplane\\.(Shard|SlotPool|SlotMemory|SwitchMlProgram|Members|FlowTable|Admission|JobRun"
                  + "|ControlSession|SwitchCore|JoinChecks|PendingJoins|Crowd|LogLimit|DropReport)"
                  + "|worker\\.(Membership|Engine|Lane|LaneOperation|Operation|AddressProof|.*Codec))")
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(Thread.class)
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(SecureRandom.class)
          .because("the socket's loop, a simulator and a benchmark drive the same code");
}
