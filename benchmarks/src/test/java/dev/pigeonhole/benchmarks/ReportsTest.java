package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ReportsTest {

  private Results results;

  @BeforeEach
  void measureNothing() throws Exception {
    results =
        new Samples("--quick")
            .rates("end-to-end", "floor", 60_000, 50_000, 55_000)
            .rates("end-to-end", "pigeonhole", 45_000, 40_000, 41_000)
            .rates("end-to-end", "db-scheduler", 4_000, 4_100)
            .rates("transactional-1", "pigeonhole", 4_000)
            .latency("latency", 500, 1, 1.5, 9, 20)
            .latency("latency-500-two", 500, 2, 60, 120, 130)
            .missing("eventuate", "guard", "said \"no\"\n")
            .results();
  }

  @Test
  void jsonHasTheKeysThatWerePromised() {
    JsonNode json = JsonMapper.shared().readTree(new JsonReport(results).text());
    assertThat(json.propertyNames())
        .containsExactly(
            "quick",
            "seed",
            "machine",
            "scenarios",
            "ratios",
            "bestOther",
            "grownRows",
            "heldSnapshotSeconds",
            "latencyMs",
            "latency",
            "targets",
            "missing");
    assertThat(json.get("machine").propertyNames())
        .containsExactly("cores", "memoryGiB", "java", "database", "settings");
    assertThat(json.get("scenarios").get(1).propertyNames())
        .containsExactly(
            "name",
            "subject",
            "messages",
            "unit",
            "rounds",
            "median",
            "min",
            "max",
            "walBytesPerMessage",
            "commitsPerMessage",
            "roundTripsPerMessage",
            "deadTuplesPerMessage",
            "clientCpuSeconds",
            "serverCpuSeconds",
            "dedup");
    assertThat(json.get("targets").get(0).propertyNames())
        .containsExactly("name", "target", "value", "met");
    assertThat(json.get("latencyMs").propertyNames()).containsExactly("rate", "p50", "p99", "p999");
  }

  @Test
  void jsonTellsWhatWasMeasured() {
    JsonNode json = JsonMapper.shared().readTree(new JsonReport(results).text());
    JsonNode ours = json.get("scenarios").get(1);
    assertThat(ours.get("subject").asString()).isEqualTo("pigeonhole");
    assertThat(ours.get("median").asDouble()).isEqualTo(41_000);
    assertThat(ours.get("min").asDouble()).isEqualTo(40_000);
    assertThat(ours.get("max").asDouble()).isEqualTo(45_000);
    assertThat(ours.get("rounds").asInt()).isEqualTo(3);
    assertThat(ours.get("walBytesPerMessage").asDouble()).isEqualTo(1_250);
    assertThat(ours.get("commitsPerMessage").asDouble()).isEqualTo(0.004);
    assertThat(ours.get("roundTripsPerMessage").asDouble()).isEqualTo(0.05);
    assertThat(json.get("ratios").get("endToEndVsFloor").asDouble()).isEqualTo(0.75);
    assertThat(json.get("ratios").get("grown").isNull()).isTrue();
    assertThat(json.get("latency")).hasSize(2);
    assertThat(json.get("missing").get(0).get("reason").asString()).isEqualTo("said \"no\"\n");
  }

  @Test
  void whoHasFailedHasNoFigureAndFailsTheRun() {
    assertThat(results.ok()).isFalse();
    assertThat(new JsonReport(results).text()).doesNotContain("\"subject\":\"eventuate\",\"mess");
    assertThat(new TextReport(results).text())
        .contains("missing: eventuate in guard: said")
        .endsWith("FAILED\n");
  }

  @Test
  void textShowsMedianSpreadAndRatios() {
    List<String> lines = new TextReport(results).text().lines().toList();
    assertThat(lines)
        .anyMatch(it -> it.matches(" +pigeonhole +1,000 +41,000 +40,000–45,000 +0\\.75 +1\\.00 .*"))
        .anyMatch(it -> it.matches(" +db-scheduler .* +10\\.5 .*"))
        .anyMatch(it -> it.matches(" +500 msg/s +2 +60\\.0 +120 +130"))
        .anyMatch(
            it -> it.matches(" +end to end, of the floor +≥ 0\\.70 +0\\.75 +0\\.75–0\\.80 +met"));
  }

  @Test
  void markdownTellsMachineTargetsRowsAndWhoWasMeasured() {
    String text = new MarkdownReport(results, "2026-11-17", "2026-11-17-quick.svg").text();
    assertThat(text)
        .contains("# Benchmark of 2026-11-17", "`./bench --quick`", "`fsync = on`")
        .contains("](2026-11-17-quick.svg)")
        .contains("| end to end, of the floor | ≥ 0.70 | 0.75 | 0.75–0.80 | met |")
        .contains("| pigeonhole | kept \\| for ever | once | pool of 24, as told |")
        .contains("| end to end, times the fastest other peer | ≥ 10.0 | – | – | not measured |")
        .contains("kill -9")
        .contains("- eventuate in guard: said");
  }

  @Test
  void chartIsAPictureWithABarForEverybody() throws Exception {
    String svg = new Chart(results).svg();
    Element root =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)))
            .getDocumentElement();
    assertThat(root.getTagName()).isEqualTo("svg");
    assertThat(root.getElementsByTagName("rect").getLength()).isEqualTo(1 + 3);
    assertThat(svg).contains("Pigeonhole", "bare SQL", "prefers-color-scheme:dark", "41,000");
  }
}
