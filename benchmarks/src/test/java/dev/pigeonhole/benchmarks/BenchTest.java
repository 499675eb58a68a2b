package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What it answers to whoever started it, when it cannot even begin. */
class BenchTest {

  private final PrintStream usualOut = System.out;
  private final String usualDirectory = System.getProperty("java.io.tmpdir");
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

  @TempDir private Path root;

  @BeforeEach
  void listen() {
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
  }

  @AfterEach
  void stopListening() {
    System.setOut(usualOut);
    System.setProperty("java.io.tmpdir", usualDirectory); // which a run replaces by its own
  }

  private JsonNode json() {
    assertThat(printed.toString(StandardCharsets.UTF_8).lines()).hasSize(1);
    return JsonMapper.shared().readTree(printed.toString(StandardCharsets.UTF_8));
  }

  @Test
  void wrongUsageIsTwo() {
    assertThat(Bench.run(new Places(root), "--quik", "--json")).isEqualTo(2);
    assertThat(json().get("error").asString()).contains("--quik");
  }

  @Test
  void noDatabaseIsThree() {
    assertThat(
            Bench.run(new Places(root), "--json", "--url", "jdbc:postgresql://127.0.0.1:1/nothing"))
        .isEqualTo(3);
    assertThat(json().get("error").asString()).contains("cannot connect");
  }

  @Test
  void helpIsNoFailure() {
    assertThat(Bench.run(new Places(root), "--help")).isZero();
    assertThat(printed.toString(StandardCharsets.UTF_8)).isEqualTo(Options.HELP);
  }
}
