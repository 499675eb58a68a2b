package dev.pigeonhole.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The script {@code verify}, in a small project where a shell script replaces Maven. */
class VerifyTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Reports a number of tests as Surefire does, or hangs. */
  private static final String MAVEN =
      """
      #!/usr/bin/env bash
      echo "mvn $* with $MAVEN_OPTS on $JAVA_HOME" >>calls
      [ ! -e hang ] || { echo $$ >hanging && exec sleep 1000; }
      mkdir -p module/target/surefire-reports
      [ ! -e results ] || sed 's/.*/<testsuite name="a.BTest" &>/' results >module/target/surefire-reports/TEST-a.BTest.xml
      if [ -e many ]; then
        for i in {1..2000}; do : >"module/target/surefire-reports/TEST-of.a.module.with.many.tests.Number$i.xml"; done
      fi
      [ ! -e broken ]
      """;

  /** Always the same day: a report has its name from the day, and a test may run at midnight. */
  private static final String DATE =
      """
      #!/bin/sh
      [ "$2" = +%F ] && echo 2026-01-02 || echo '2026-01-02 03:04'
      """;

  private static final String GOOD = "tests=\"3\" errors=\"0\" skipped=\"0\" failures=\"0\"";

  @TempDir private Path project;

  private record Run(int exit, String output) {
    String lastLine() {
      return output.strip().lines().reduce("", (first, second) -> second);
    }
  }

  @BeforeEach
  void lay() throws Exception {
    executable("verify", Files.readString(ROOT.resolve("verify")));
    executable("test-support/without-services", "#!/bin/sh\nexec \"$@\"\n");
    executable("bin/mvn", MAVEN);
    executable("bin/date", DATE);
    for (String server : List.of("redis-server", "rabbitmq-server", "apt-get", "sudo")) {
      executable("bin/" + server, "#!/bin/sh\n");
    }
    jdk("17.0.1");
    write(
        ".gitignore",
        "target/\nbin/\njdk-*/\ncalls\noutput\nresults\nmany\nhang\nhanging\nbroken\n");
    write("results", GOOD);
    git("init", "-q");
    commit("sources");
  }

  @Test
  void helpAndListNameEveryPart() throws Exception {
    assertThat(verify("--help").output()).contains("--full", "--part PART", "Exit 3");
    Run list = verify("--list");
    assertThat(list.exit()).isZero();
    assertThat(list.output().lines().map(line -> line.split(" ")[0]))
        .containsExactly(
            "tests",
            "proofs",
            "jupiter5",
            "demo",
            "versions",
            "spring6",
            "boot40",
            "teeth",
            "peers");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--part",
        "--part=",
        "--only=",
        "--part=test",
        "--ful",
        "tests",
        "--part tests now"
      })
  void wrongUsageEndsWithAHint(String arguments) throws Exception {
    Run run = verify(arguments.split(" "));
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.output()).contains("verify: ", "Try: ./verify --");
    assertThat(project.resolve("calls")).doesNotExist();
  }

  @Test
  void anEmptyNameOfAPartIsWrongUsage() throws Exception {
    assertThat(verify("--part", "").exit()).isEqualTo(2);
    assertThat(project.resolve("calls")).doesNotExist();
  }

  @Test
  void testsThatPassAreCounted() throws Exception {
    Run run = verify("--part", "jupiter5");
    assertThat(run.exit()).isZero();
    assertThat(run.output()).contains("3 passed, 0 failed, 0 skipped");
    assertThat(run.lastLine()).isEqualTo("VERIFY OK");
    assertThat(read("target/verify.json")).contains("\"ok\": true", "\"tests\": 3");
    assertThat(read("calls"))
        .contains("verify -Dpigeonhole.size=small -Dfast -pl pigeonhole-testkit");
  }

  @Test
  void manyReportsAreRead() throws Exception {
    write("many", "");
    Run run = verify("--part", "jupiter5");
    assertThat(run.output()).contains("3 passed, 0 failed, 0 skipped");
    assertThat(run.exit()).isZero();
  }

  @Test
  void aCollectorThatTheCallerChoosesIsKept() throws Exception {
    verify("--part", "jupiter5");
    assertThat(read("calls")).contains("-XX:TieredStopAtLevel=1 -XX:+UseParallelGC");
    verify("--part", "jupiter5", "MAVEN_OPTS=-Xmx1g -XX:+UseG1GC");
    assertThat(read("calls"))
        .contains("-XX:TieredStopAtLevel=1 -Xmx1g -XX:+UseG1GC")
        .doesNotContain("UseParallelGC");
  }

  @ParameterizedTest
  @CsvSource({"11.0.2, 3", "1.8.0_402, 3", "17.0.1, 0", "25, 0"})
  void smallSizeNeedsJdk17OrNewer(String version, int exit) throws Exception {
    Run run = verify("--part", "jupiter5", "JAVA_HOME=" + jdk(version));
    assertThat(run.exit()).isEqualTo(exit);
    assertThat(run.output().contains("missing: openjdk-17-jdk-headless")).isEqualTo(exit == 3);
  }

  @Test
  void fullSizeRunsOnJdk17WhereverItIs() throws Exception {
    Path jdk17 = jdk("17.0.1");
    Path jdk21 = jdk("21.0.1");
    Run wrong = verify("--full", "--part", "jupiter5", "JAVA_HOME_17=" + jdk21);
    assertThat(wrong.exit()).isEqualTo(3);
    assertThat(project.resolve("calls")).doesNotExist();

    verify("--full", "--part", "jupiter5", "JAVA_HOME_17=" + jdk17, "JAVA_HOME=" + jdk21);
    assertThat(read("calls")).contains("on " + jdk17);
    verify("--full", "--part", "jupiter5", "JAVA_HOME_17=", "JAVA_HOME=" + jdk17);
    assertThat(read("calls")).contains("on " + jdk17);
  }

  @ParameterizedTest
  @CsvSource({
    "tests=\"3\" errors=\"1\" skipped=\"0\" failures=\"0\", false",
    "tests=\"3\" errors=\"0\" skipped=\"1\" failures=\"0\", false",
    "tests=\"3\" errors=\"0\" skipped=\"0\" failures=\"0\", true",
    ", false"
  })
  void anErrorASkippedTestABrokenBuildAndNoTestAtAllFail(String results, boolean broken)
      throws Exception {
    Files.delete(project.resolve("results"));
    if (results != null) {
      write("results", results);
    }
    if (broken) {
      write("broken", "");
    }
    Run run = verify("--only=jupiter5");
    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.lastLine()).isEqualTo("VERIFY FAILED: jupiter5");
    assertThat(read("target/verify.json")).contains("\"ok\": false");
  }

  @Test
  void partsThatRanOnTheSameSourcesShareAReport() throws Exception {
    verify("--full", "--part", "jupiter5");
    Path report = onlyReport();
    assertThat(Files.readString(report))
        .contains("passed, not run yet: tests proofs demo", "3 passed", "| jupiter5 | ok |")
        .contains("| spring6 | not run |");
    commit("report");

    verify("--full", "--part", "spring6");
    assertThat(Files.readString(onlyReport()))
        .contains("6 passed", "| jupiter5 | ok |", "| spring6 | ok |");

    write("source", "changed");
    verify("--full", "--part", "spring6");
    assertThat(Files.readString(onlyReport()))
        .contains("with uncommitted changes", "3 passed", "| jupiter5 | not run |");
    commit("other sources");

    write("results", GOOD.replace("errors=\"0\"", "errors=\"1\""));
    assertThat(verify("--full", "--part", "proofs").exit()).isEqualTo(1);
    assertThat(Files.readString(onlyReport()))
        .contains("**failed** in proofs", "2 passed, 1 failed", "| jupiter5 | not run |");
  }

  @Test
  void interruptedItEndsWhatItStarted() throws Exception {
    write("hang", "");
    Process process = start("--part", "jupiter5");
    while (!Files.exists(project.resolve("hanging")) || read("hanging").isBlank()) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
    long child = Long.parseLong(read("hanging").strip());
    process.destroy();
    assertThat(process.waitFor()).isEqualTo(1);
    assertThat(read("output")).contains("interrupted", "VERIFY FAILED: jupiter5");
    assertThat(ProcessHandle.of(child).filter(ProcessHandle::isAlive)).isEmpty();
  }

  @Test
  void whatCannotBeInstalledIsNamed() throws Exception {
    Run run = verify("--full", "--part", "versions", "JAVA_HOME_25=/nowhere");
    assertThat(run.exit()).isEqualTo(3);
    assertThat(run.output()).contains("missing: ", "temurin-25-jdk", "Install it with: ");
    assertThat(project.resolve("calls")).doesNotExist();
  }

  /** Arguments with an equals sign and no dash are variables of the environment. */
  private Process start(String... arguments) throws IOException {
    List<String> command = Stream.concat(Stream.of("./verify"), Arrays.stream(arguments)).toList();
    ProcessBuilder builder =
        new ProcessBuilder(command.stream().filter(each -> !each.matches("[A-Z].*")).toList());
    var environment = builder.environment();
    environment.put("PATH", project.resolve("bin") + File.pathSeparator + environment.get("PATH"));
    environment.keySet().removeAll(List.of("MAVEN_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
    environment.put("JAVA_HOME", project.resolve("jdk-17.0.1").toString());
    environment.put("JAVA_HOME_17", project.resolve("jdk-17.0.1").toString());
    for (String each : command) {
      if (each.matches("[A-Z].*")) {
        String[] nameAndValue = each.split("=", 2);
        environment.put(nameAndValue[0], nameAndValue[1]);
      }
    }
    return builder
        .directory(project.toFile())
        .redirectErrorStream(true)
        .redirectOutput(project.resolve("output").toFile())
        .start();
  }

  private Run verify(String... arguments) throws IOException, InterruptedException {
    Files.deleteIfExists(project.resolve("calls"));
    int exit = start(arguments).waitFor();
    return new Run(exit, read("output"));
  }

  private Path onlyReport() throws IOException {
    try (Stream<Path> files = Files.list(project.resolve("docs/proof"))) {
      List<Path> reports = files.toList();
      assertThat(reports).hasSize(1);
      return reports.get(0);
    }
  }

  private void commit(String message) throws IOException, InterruptedException {
    git("add", "-A");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", message);
  }

  private void git(String... arguments) throws IOException, InterruptedException {
    List<String> command = Stream.concat(Stream.of("git"), Arrays.stream(arguments)).toList();
    Process git = new ProcessBuilder(command).directory(project.toFile()).start();
    String errors = new String(git.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(git.waitFor()).as(errors).isZero();
  }

  private void write(String path, String text) throws IOException {
    Path file = project.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  /** The home of a JDK that can only tell its version. */
  private Path jdk(String version) throws IOException {
    Path home = project.resolve("jdk-" + version);
    executable(home + "/bin/javac", "#!/bin/sh\necho javac " + version + "\n");
    return home;
  }

  private void executable(String path, String text) throws IOException {
    write(path, text);
    assertThat(project.resolve(path).toFile().setExecutable(true)).isTrue();
  }

  private String read(String path) {
    try {
      return Files.readString(project.resolve(path));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
