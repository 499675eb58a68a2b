package dev.pigeonhole.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The patches that break the library on purpose. Only {@code ./verify --full} runs their proofs, so
 * this test detects in every run that a change has made one of them unusable.
 */
class TeethTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  static List<Path> patches() throws IOException {
    try (Stream<Path> files = Files.list(ROOT.resolve("proofs/teeth"))) {
      return files.filter(file -> file.toString().endsWith(".patch")).sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("patches")
  void aPatchAppliesToTheSources(Path patch) throws IOException, InterruptedException {
    Process git =
        new ProcessBuilder("git", "apply", "--check", patch.toString())
            .directory(ROOT.toFile())
            .redirectErrorStream(true)
            .start();
    String output = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assertThat(git.waitFor()).as(output).isZero();
  }

  /** The first line is {@code # proof: MODULE TEST}. */
  @ParameterizedTest
  @MethodSource("patches")
  void aPatchNamesTheModuleAndTheTestThatMustFail(Path patch) throws IOException {
    String proof = Files.readAllLines(patch).get(0);
    assertThat(proof).matches("# proof: \\S+ \\S+");
    String[] words = proof.split(" ");
    String test = words[3].replaceFirst("#.*", "") + ".java";
    try (Stream<Path> sources = Files.walk(ROOT.resolve(words[2]).resolve("src/test/java"))) {
      assertThat(sources.filter(file -> file.endsWith(test))).as(proof).hasSize(1);
    }
  }

  /**
   * The second line is {@code # fails: REGEX}. Without it a server that did not start, or a wait in
   * vain, would pass for the expected failure.
   */
  @ParameterizedTest
  @MethodSource("patches")
  void aPatchNamesHowItsProofFails(Path patch) throws IOException {
    String fails = Files.readAllLines(patch).get(1);
    assertThat(fails).startsWith("# fails: ");
    Pattern expected = Pattern.compile(fails.substring("# fails: ".length()));
    assertThat(
            List.of(
                "",
                "aTest: java.util.concurrent.TimeoutException: aTest() timed out after 600 seconds",
                "aTest: java.lang.IllegalStateException: The server did not start",
                "aTest: java.lang.AssertionError: Waited 180.0 s in vain for a receipt (9 tries)"))
        .noneMatch(other -> expected.matcher(other).find());
  }
}
