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
      echo "mvn $*" >>calls
      [ ! -e hang ] || { echo $$ >hanging && exec sleep 1000; }
      mkdir -p module/target/surefire-reports
      [ ! -e results ] || sed 's/.*/<testsuite name="a.BTest" &>/' results >module/target/surefire-reports/TEST-a.BTest.xml
      [ ! -e broken ]
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
    for (String server : List.of("redis-server", "rabbitmq-server", "apt-get", "sudo")) {
      executable("bin/" + server, "#!/bin/sh\n");
    }
    write(".gitignore", "target/\nbin/\ncalls\noutput\nresults\nhang\nhanging\nbroken\n");
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
  @ValueSource(strings = {"--part", "--part=test", "--ful", "tests", "--part tests now"})
  void wrongUsageEndsWithAHint(String arguments) throws Exception {
    Run run = verify(arguments.split(" "));
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.output()).contains("verify: ", "Try: ./verify --");
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
    environment.put("JAVA_HOME", System.getProperty("java.home"));
    environment.put("JAVA_HOME_17", System.getProperty("java.home"));
    for (String each : command) {
      if (each.matches("[A-Z].*")) {
        environment.put(each.split("=")[0], each.split("=")[1]);
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
