package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demo as a process of its own, for what only a process can show. */
class DemoTest {
  private static final Duration PATIENCE = Duration.ofMinutes(10);

  /** No demo is over before it is interrupted. */
  private static final int FAR_TOO_MANY = 100_000;

  @TempDir private Path directory;

  @Test
  @Tag("full")
  void anInterruptedDemoReportsItsCountsAndCleansUp() throws IOException {
    interrupt("stored");
  }

  @Test
  @Tag("full")
  void anInterruptedInlineDemoReportsItsNumbers() throws IOException {
    interrupt("inline");
  }

  private void interrupt(String mode) throws IOException {
    try (JavaProcess demo =
        demo("--json", "--messages", FAR_TOO_MANY, "--mode", mode, "--timeout", 3_600)) {
      demo.awaitLine(line -> line.matches(" +\\d\\d?%  sent [1-9].*"), PATIENCE);
      demo.terminate();

      assertThat(demo.waitFor(PATIENCE)).isEqualTo(130);
      String json = onlyJson(demo);
      assertThat(json).contains("\"ok\":false", "\"error\":\"interrupted\"");
      assertThat(json).contains("\"mode\":\"%s\"".formatted(mode));
      assertThat(number(json, "sent")).isPositive();
      assertThat(number(json, "repeats")).isNotNegative();
      assertThat(number(json, "sent"))
          .isEqualTo(
              number(json, "accepted")
                  + number(json, "repeats")
                  + number(json, "conflicts")
                  + number(json, "rejected"));
      // What was stored when its worker ended before it could answer is not counted as accepted.
      long accepted = number(json, "accepted") * number(json, "handlers");
      assertThat(accepted).isPositive();
      assertThat(
              number(json, "completed")
                  + number(json, "poisoned")
                  + number(json, "held")
                  + number(json, "pending"))
          .isGreaterThanOrEqualTo(accepted);
      assertThat(number(json, "lost")).isZero();
      assertThat(number(json, "doubleEffects")).isZero();
    }
    assertNothingLeft();
  }

  @Test
  void whoInterruptsAtTheVeryStartIsAnsweredToo() throws IOException {
    try (JavaProcess demo = demo("--json")) {
      demo.awaitLine("starting h2", PATIENCE);
      demo.terminate();

      assertThat(demo.waitFor(PATIENCE)).isEqualTo(130);
      assertThat(onlyJson(demo)).contains("\"ok\":false", "\"error\":\"interrupted\"");
    }
    assertNothingLeft();
  }

  private JavaProcess demo(Object... args) {
    return JavaProcess.of(Demo.class)
        .systemProperty("java.io.tmpdir", directory.toString())
        .systemProperty("pigeonhole.demo.count-seconds", "300") // on a machine that does much else
        .args(args)
        .start();
  }

  private static String onlyJson(JavaProcess demo) {
    List<String> objects =
        demo.output().stream().filter(line -> line.startsWith("{\"ok\"")).toList();
    assertThat(objects).as("%s", demo.output()).hasSize(1);
    return objects.get(0);
  }

  private static long number(String json, String name) {
    Matcher value = Pattern.compile("\"" + name + "\":(-?\\d+)").matcher(json);
    assertThat(value.find()).as(json).isTrue();
    return Long.parseLong(value.group(1));
  }

  private void assertNothingLeft() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files).isEmpty();
    }
  }
}
