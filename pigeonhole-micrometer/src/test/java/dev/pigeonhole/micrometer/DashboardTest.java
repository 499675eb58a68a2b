package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.TestDatabase;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Dashboard, alerts and the page about meters speak of what a run really leaves, and of all of it.
 */
class DashboardTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Path DASHBOARD = ROOT.resolve("observability/grafana-dashboard.json");
  private static final Path ALERTS = ROOT.resolve("observability/prometheus-alerts.yml");
  private static final Path PAGE = ROOT.resolve("docs/observability.md");
  private static final Pattern NAME = Pattern.compile("\\bpigeonhole_[a-z_]+");
  private static final Pattern SELECTOR = Pattern.compile("\\b(pigeonhole_[a-z_]+)\\{([^}]*)\\}");
  private static final Pattern LABEL = Pattern.compile("([a-z_]+)\\s*(?:=~|!=|!~|=)");
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| `(pigeonhole\\.[a-z.]+)` \\| ([a-z ]+) \\| ([a-z, ]+) \\|");

  private static PrometheusMeterRegistry run(TestDatabase database) {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    new Day(Shop.in(database), registry, OpenObservations.timing(registry)).pass(2);
    return registry;
  }

  /** Names of what is exposed, with the labels of each. */
  private static Map<String, Set<String>> exposed(PrometheusMeterRegistry registry) {
    Map<String, Set<String>> labels = new TreeMap<>();
    for (String line : registry.scrape().split("\n")) {
      Matcher sample = Pattern.compile("^(pigeonhole_[a-z_]+)(?:\\{(.*)\\})? ").matcher(line);
      if (sample.find()) {
        Set<String> known = labels.computeIfAbsent(sample.group(1), name -> new TreeSet<>());
        if (sample.group(2) != null) {
          known.addAll(labelsIn(sample.group(2)));
        }
      }
    }
    return labels;
  }

  private static Set<String> labelsIn(String text) {
    return LABEL.matcher(text).results().map(each -> each.group(1)).collect(Collectors.toSet());
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void dashboardAndAlertsNameOnlyWhatIsExposed(TestDatabase database) throws IOException {
    Map<String, Set<String>> exposed = exposed(run(database));
    for (Path file : Set.of(DASHBOARD, ALERTS)) {
      String text = Files.readString(file).replace("\\\"", "\"");
      Set<String> names =
          NAME.matcher(text).results().map(each -> each.group()).collect(Collectors.toSet());
      assertThat(names).as("names in " + file).isNotEmpty();
      assertThat(exposed.keySet()).as("what " + file + " asks for").containsAll(names);
      SELECTOR
          .matcher(text)
          .results()
          .forEach(
              each ->
                  assertThat(exposed.get(each.group(1)))
                      .as("labels of " + each.group())
                      .containsAll(labelsIn(each.group(2))));
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void thePageListsEveryMeterWithItsTypeAndTags(TestDatabase database) throws IOException {
    Map<String, String> real = new TreeMap<>();
    Map<String, Set<String>> tags = new TreeMap<>();
    for (Meter meter : run(database).getMeters()) {
      Meter.Id id = meter.getId();
      real.put(id.getName(), type(id.getType()));
      tags.computeIfAbsent(id.getName(), name -> new TreeSet<>())
          .addAll(id.getTags().stream().map(Tag::getKey).toList());
    }
    Map<String, String> listed = new TreeMap<>();
    Map<String, Set<String>> listedTags = new TreeMap<>();
    Matcher row = ROW.matcher(Files.readString(PAGE));
    while (row.find()) {
      listed.put(row.group(1), row.group(2));
      listedTags.put(row.group(1), new TreeSet<>(Arrays.asList(row.group(3).split(", "))));
    }
    assertThat(listed).isEqualTo(real);
    assertThat(listedTags).isEqualTo(tags);
  }

  private static String type(Meter.Type type) {
    return switch (type) {
      case DISTRIBUTION_SUMMARY -> "summary";
      case LONG_TASK_TIMER -> "long task timer";
      case COUNTER -> "counter";
      case TIMER -> "timer";
      default -> "gauge";
    };
  }

  @Test
  void theDashboardIsJsonWithAQueryInEveryPanel() throws IOException {
    JsonNode panels =
        JsonMapper.builder().build().readTree(Files.readString(DASHBOARD)).get("panels");
    assertThat(panels.size()).isGreaterThan(10);
    for (JsonNode panel : panels) {
      assertThat(panel.get("targets").size()).as(panel.get("title").asString()).isPositive();
    }
  }

  @Test
  void everyAlertHasAnExpressionASeverityAndAText() throws IOException {
    String text = Files.readString(ALERTS);
    long alerts = count(text, "- alert: ");
    assertThat(alerts).isGreaterThan(5);
    assertThat(count(text, " expr: ")).isEqualTo(alerts);
    assertThat(count(text, " severity: ")).isEqualTo(alerts);
    assertThat(count(text, " summary: ")).isEqualTo(alerts);
    assertThat(count(text, " description: ")).isEqualTo(alerts);
  }

  private static long count(String text, String what) {
    return text.lines().filter(line -> line.contains(what)).count();
  }
}
