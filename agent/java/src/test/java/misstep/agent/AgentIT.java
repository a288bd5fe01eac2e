package misstep.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import misstep.programs.Everything;
import misstep.programs.Retransforming;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The finished jar in JVMs of their own, with a stand-in for the native half. */
class AgentIT {
  private static final Path JAR = Path.of(System.getProperty("misstep.agent.jar"));
  private static final long LIMIT_SECONDS = 120;

  @TempDir Path dir;

  /** What a JVM left behind. */
  private record Run(int exit, String out, String err) {}

  static List<Path> jdks() {
    List<Path> homes = new ArrayList<>();
    homes.add(Path.of(System.getProperty("java.home")));
    homes.add(Path.of("/usr/lib/jvm/temurin-25-jdk-amd64"));
    String more = System.getenv("MISSTEP_TEST_JDKS"); // separated by colons
    if (more != null) {
      Stream.of(more.split(":")).map(Path::of).forEach(homes::add);
    }
    return homes;
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void patchJarIsTakenQuietly(Path jdk) throws Exception {
    Path patch = patch(jdk);
    byte[] first = Files.readAllBytes(patch);
    assertEquals(-1, java.util.Arrays.mismatch(first, Files.readAllBytes(patch(jdk))));
    Run plain = run(jdk, List.of("-version"));
    Run patched = run(jdk, List.of("--patch-module", "java.base=" + patch, "-version"));
    assertEquals(new Run(0, "", plain.err.replace(", sharing", "")), patched);
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void programDoesTheSameUnderTheAgent(Path jdk) throws Exception {
    List<String> program = List.of("-cp", "target/test-classes", Everything.class.getName());
    Run plain = run(jdk, program);
    assertEquals(0, plain.exit, plain.err);
    List<String> arguments = agent(jdk, "methods=1,seed=1,out=" + dir);
    arguments.addAll(List.of("-cp", fakeNative() + ":target/test-classes"));
    arguments.add(Everything.class.getName());
    Run instrumented = run(jdk, arguments);
    assertEquals(plain, instrumented);
    String told = Files.readString(dir.resolve("told"));
    assertTrue(told.contains("registered misstep/fixtures/Shapes"), told);
    assertTrue(told.contains("registered java/util/"), told);
    assertEquals(List.of(), told.lines().filter(s -> s.startsWith("failed")).toList());
    List<String> listed = Files.readAllLines(dir.resolve(MethodList.NAME));
    assertTrue(listed.stream().anyMatch(s -> s.startsWith("misstep/fixtures/Shapes.")));
    assertTrue(listed.size() <= MethodList.MOST + 1, listed.size() + " lines");
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void jvmVerifiesAllOfBaseModule(Path jdk) throws Exception {
    List<String> arguments = agent(jdk, "methods=1,seed=1");
    arguments.addAll(List.of("-Xverify:all", "-cp", fakeNative() + ":target/test-classes"));
    arguments.addAll(List.of(Everything.class.getName(), "java.base"));
    Run instrumented = run(jdk, arguments);
    assertEquals(0, instrumented.exit, instrumented.out + instrumented.err);
    assertTrue(instrumented.out.contains("balanced true"), instrumented.out);
    List<String> told = Files.readAllLines(dir.resolve("told"));
    long registered = told.stream().filter(s -> s.startsWith("registered java/")).count();
    assertTrue(registered > 1500, "only " + registered + " classes");
    assertEquals(List.of(), told.stream().filter(s -> s.startsWith("failed")).toList());
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void withoutNativeHalfOrPatchTheProgramRuns(Path jdk) throws Exception {
    String program = Everything.class.getName();
    Run plain = run(jdk, List.of("-cp", "target/test-classes", program));
    Run alone = run(jdk, List.of("-javaagent:" + JAR, "-cp", "target/test-classes", program));
    assertEquals(plain.out, alone.out);
    assertEquals(0, alone.exit);
    assertTrue(alone.err.startsWith("misstep: no class is instrumented: libmisstep"), alone.err);
    Run unpatched =
        run(
            jdk,
            List.of(
                "-javaagent:" + JAR,
                "-Dfake.options=methods=1",
                "-Dfake.told=" + dir.resolve("told"),
                "-cp",
                fakeNative() + ":target/test-classes",
                program));
    assertEquals(plain.out, unpatched.out);
    assertTrue(unpatched.err.startsWith("misstep: no class is instrumented"), unpatched.err);
    assertTrue(unpatched.err.contains("patch jar"), unpatched.err);
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void failureOfTheAgentLeavesClassesAsTheyAre(Path jdk) throws Exception {
    Run plain = run(jdk, List.of("-cp", "target/test-classes", Everything.class.getName()));
    List<String> arguments = agent(jdk, "methods=1,seed=1");
    arguments.addAll(List.of("-Dfake.broken=true", "-cp", fakeNative() + ":target/test-classes"));
    arguments.add(Everything.class.getName());
    assertEquals(plain, run(jdk, arguments));
    List<String> told = Files.readAllLines(dir.resolve("told"));
    long failed = told.stream().filter(s -> s.startsWith("failed")).count();
    assertTrue(failed > told.size() / 10 && failed < told.size() / 2, failed + " failures");
  }

  @ParameterizedTest
  @MethodSource("jdks")
  void instrumentationSurvivesRetransformation(Path jdk) throws Exception {
    Path other = dir.resolve("other.jar");
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
    manifest.getMainAttributes().putValue("Premain-Class", Retransforming.class.getName());
    manifest.getMainAttributes().putValue("Can-Retransform-Classes", "true");
    new JarOutputStream(Files.newOutputStream(other), manifest).close();
    List<String> arguments = agent(jdk, "methods=1,seed=1");
    arguments.addAll(
        List.of(
            "-javaagent:" + other,
            "-cp",
            fakeNative() + ":target/test-classes",
            Retransforming.class.getName()));
    assertEquals(new Run(0, "same true, pushes true\n", ""), run(jdk, arguments));
    String told = Files.readString(dir.resolve("told"));
    assertTrue(told.matches("(?s).*registered misstep/fixtures/Exceptions \\d+ again.*"), told);
    assertTrue(told.matches("(?s).*registered java/util/BitSet \\d+ again.*"), told);
  }

  private List<String> agent(Path jdk, String options) throws Exception {
    Path patch = patch(jdk);
    FakeNative.withoutNatives(patch);
    List<String> arguments = new ArrayList<>();
    arguments.add("--patch-module");
    arguments.add("java.base=" + patch);
    arguments.add("-javaagent:" + JAR);
    arguments.add("-Dfake.options=" + options);
    arguments.add("-Dfake.told=" + dir.resolve("told"));
    return arguments;
  }

  private Path fakeNative() throws IOException {
    return FakeNative.compile(Files.createDirectories(dir.resolve("fake")));
  }

  private Path patch(Path jdk) throws Exception {
    Path patch = dir.resolve("patch.jar");
    Run made = run(jdk, List.of("-cp", JAR.toString(), "misstep.agent.Patch", patch.toString()));
    assertEquals(new Run(0, "", ""), made);
    return patch;
  }

  private Run run(Path jdk, List<String> arguments) throws Exception {
    Path java = jdk.resolve("bin").resolve("java");
    assumeTrue(Files.isExecutable(java), "no JDK at " + jdk);
    List<String> command = new ArrayList<>();
    command.add(java.toString());
    command.add("--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"); // for Everything
    command.addAll(arguments);
    File out = dir.resolve("out").toFile();
    File err = dir.resolve("err").toFile();
    ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out).redirectError(err);
    builder.environment().remove("JAVA_TOOL_OPTIONS"); // it is announced on stderr
    Process process = builder.start();
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
      throw new AssertionError("still running after " + LIMIT_SECONDS + " s: " + command);
    }
    return new Run(
        process.exitValue(), Files.readString(out.toPath()), Files.readString(err.toPath()));
  }
}
