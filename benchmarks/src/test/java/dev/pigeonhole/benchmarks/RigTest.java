package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Everything together, small; how long it takes is nobody's business here. */
class RigTest {

  @TempDir private Path root;

  @Test
  void floorAndOursCompleteEveryMessageOfAStoredAndAnInlineScenario() throws Exception {
    Options options =
        Options.parse(
            "--messages=300", "--rounds=2", "--peers=none", "--scenario=end-to-end,guard");
    Results results = run(options);

    assertThat(results.missing()).isEmpty();
    assertThat(results.series())
        .extracting(it -> it.entry().row() + " " + it.entry().subject())
        .containsExactly(
            "end-to-end floor", "end-to-end pigeonhole", "guard floor", "guard pigeonhole");
    assertThat(results.series())
        .allSatisfy(
            series -> {
              assertThat(series.roundsDone()).isEqualTo(2);
              assertThat(series.messages()).isEqualTo(300);
              assertThat(series.median().getAsDouble()).isPositive();
              assertThat(series.perMessage("walBytes").getAsDouble()).isPositive();
              assertThat(series.perMessage("commits").getAsDouble()).isPositive();
            });
    JsonNode json = JsonMapper.shared().readTree(new JsonReport(results).text());
    assertThat(json.get("ratios").get("endToEndVsFloor").asDouble()).isPositive();
    assertThat(json.get("machine").get("settings").get("fsync").asString()).isEqualTo("on");
  }

  @Test
  void peerThatIsNotBuiltIsMissing() throws Exception {
    Options options =
        Options.parse("--messages=100", "--rounds=1", "--peers=camel", "--scenario=guard");
    Plan whole = Plan.of(options);
    Plan camelAlone =
        new Plan(
            List.of(
                new Heat(whole.entries().filter(it -> it.subject().equals("camel")).toList(), 0)),
            0,
            0);
    Results results = run(options, camelAlone, Options.parse("--store=h2"));
    assertThat(results.ok()).isFalse();
    assertThat(results.missing())
        .singleElement()
        .satisfies(it -> assertThat(it.reason()).startsWith("not built"));
  }

  private Results run(Options options) throws Exception {
    return run(options, Plan.of(options), options);
  }

  private Results run(Options options, Plan plan, Options store) throws Exception {
    Places places = new Places(root);
    Files.createDirectories(places.logs());
    Progress silent =
        new Progress(
            new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8), false);
    try (Database database = Database.open(store, root);
        Subjects subjects = new Subjects(places)) {
      return new Rig(options, plan, database, subjects, silent).run();
    }
  }
}
