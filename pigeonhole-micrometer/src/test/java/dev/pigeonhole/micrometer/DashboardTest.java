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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Dashboard, alerts and the page about meters speak of what a run really leaves, and of all of it.
 * That the words of the page are those of meters is {@link OutcomesTest}'s.
 */
class DashboardTest {
  private static final Path DASHBOARD =
      MetersPage.ROOT.resolve("observability/grafana-dashboard.json");
  private static final Path ALERTS = MetersPage.ROOT.resolve("observability/prometheus-alerts.yml");
  private static final Pattern NAME = Pattern.compile("\\bpigeonhole_[a-z_]+");
  private static final Pattern SAMPLE = Pattern.compile("^(pigeonhole_[a-z_]+)(?:\\{(.*)\\})? ");
  private static final Pattern SELECTOR = Pattern.compile("\\b(pigeonhole_[a-z_]+)\\{([^}]*)\\}");
  private static final Pattern LABEL =
      Pattern.compile("([a-z_]+)\\s*(?:=~|!=|!~|=)\\s*\"([^\"]*)\"");
  private static final Pattern LABEL_VALUES =
      Pattern.compile("label_values\\((pigeonhole_[a-z_]+), ([a-z_]+)\\)");
  private static final Pattern GROUPED = Pattern.compile("\\bby \\(([a-z_, ]+)\\)");
  private static final Pattern OUTERMOST =
      Pattern.compile("^(?:sum|max)(?: by \\(([a-z_, ]+)\\))?");
  private static final Pattern SHOWN = Pattern.compile("\\{\\{\\s*(?:\\$labels\\.)?([a-z_]+)");
  private static final Pattern ALERT = Pattern.compile("(?s)- alert: .*?(?=- alert: |\\z)");
  private static final Pattern EXPRESSION = Pattern.compile("(?m)^ +expr: (.*)$");

  /** What Prometheus itself adds to all that it scrapes. */
  private static final String INSTANCE = "instance";

  private final MetersPage page = new MetersPage();

  /**
   * What a panel or an alert asks for.
   *
   * @param text shows what came of it
   */
  private record Query(String expression, String text) {
    Set<String> names() {
      return all(NAME, expression).map(MatchResult::group).collect(Collectors.toSet());
    }

    Set<String> grouped() {
      return all(GROUPED, expression)
          .flatMap(each -> Set.of(each.group(1).split(", ")).stream())
          .collect(Collectors.toSet());
    }

    Set<String> shown() {
      return all(SHOWN, text).map(each -> each.group(1)).collect(Collectors.toSet());
    }

    /** Of these labels of its samples, those that its answer still has. */
    Set<String> left(Set<String> labels) {
      Matcher outermost = OUTERMOST.matcher(expression);
      if (!outermost.find()) {
        return labels;
      }
      return outermost.group(1) == null ? Set.of() : Set.of(outermost.group(1).split(", "));
    }
  }

  private static Stream<MatchResult> all(Pattern pattern, String text) {
    return pattern.matcher(text).results();
  }

  private static List<Query> queries() throws IOException {
    List<Query> queries = new ArrayList<>();
    for (JsonNode panel : dashboard().get("panels")) {
      for (JsonNode target : panel.get("targets")) {
        queries.add(
            new Query(target.get("expr").asString(), target.path("legendFormat").asString("")));
      }
    }
    all(ALERT, Files.readString(ALERTS))
        .map(MatchResult::group)
        .forEach(
            alert ->
                all(EXPRESSION, alert)
                    .forEach(each -> queries.add(new Query(each.group(1), alert))));
    return queries;
  }

  private static JsonNode dashboard() throws IOException {
    return JsonMapper.builder().build().readTree(Files.readString(DASHBOARD));
  }

  private static PrometheusMeterRegistry run(TestDatabase database) {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    new Day(Shop.in(database), registry, OpenObservations.timing(registry)).pass(2);
    return registry;
  }

  /** Names of what is exposed, with the labels of each. */
  private static Map<String, Set<String>> exposed(PrometheusMeterRegistry registry) {
    Map<String, Set<String>> labels = new TreeMap<>();
    for (String line : registry.scrape().split("\n")) {
      Matcher sample = SAMPLE.matcher(line);
      if (sample.find()) {
        Set<String> known = labels.computeIfAbsent(sample.group(1), name -> new TreeSet<>());
        if (sample.group(2) != null) {
          all(LABEL, sample.group(2)).forEach(each -> known.add(each.group(1)));
        }
      }
    }
    return labels;
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void dashboardAndAlertsNameOnlyWhatIsExposed(TestDatabase database) throws IOException {
    Map<String, Set<String>> exposed = exposed(run(database));
    assertThat(queries()).hasSizeGreaterThan(20);
    for (Query query : queries()) {
      String what = query.expression();
      assertThat(query.names()).as(what).isNotEmpty();
      assertThat(exposed.keySet()).as(what).containsAll(query.names());
      all(SELECTOR, what)
          .forEach(
              each ->
                  all(LABEL, each.group(2))
                      .forEach(
                          label ->
                              assertThat(exposed.get(each.group(1)))
                                  .as(what)
                                  .contains(label.group(1))));
      Set<String> labels = new TreeSet<>(Set.of(INSTANCE));
      query.names().forEach(name -> labels.addAll(exposed.get(name)));
      assertThat(labels).as("to group by in " + what).containsAll(query.grouped());
      assertThat(query.left(labels)).as("to show of " + what).containsAll(query.shown());
    }
    List<MatchResult> variables = all(LABEL_VALUES, dashboard().toString()).toList();
    assertThat(variables).hasSize(2);
    assertThat(variables)
        .allSatisfy(each -> assertThat(exposed.get(each.group(1))).contains(each.group(2)));
  }

  /** An alert on a word that no meter uses never fires, and nobody notices. */
  @Test
  void dashboardAndAlertsChooseByWordsThatMetersHave() throws IOException {
    int chosen = 0;
    for (Query query : queries()) {
      for (MatchResult selector : all(SELECTOR, query.expression()).toList()) {
        Set<String> words = page.words(page.meterOf(selector.group(1)));
        for (MatchResult label : all(LABEL, selector.group(2)).toList()) {
          if (!label.group(2).startsWith("$")) { // else Grafana puts in what it has found
            assertThat(words).as(selector.group()).containsAll(Set.of(label.group(2).split("\\|")));
            assertThat(MetersPage.TAGS_OF_WORDS).contains(label.group(1));
            chosen++;
          }
        }
      }
    }
    assertThat(chosen).isGreaterThan(5);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void thePageListsEveryMeterWithItsTypeAndTags(TestDatabase database) {
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
    page.rows()
        .forEach(
            (name, row) -> {
              listed.put(name, row.type());
              listedTags.put(name, row.tags());
            });
    assertThat(listed).isEqualTo(real);
    assertThat(listedTags).isEqualTo(tags);
    tags.forEach(
        (name, keys) ->
            assertThat(page.words(name).isEmpty())
                .as("whether the page says nothing of the outcome or state of " + name)
                .isEqualTo(keys.stream().noneMatch(MetersPage.TAGS_OF_WORDS::contains)));
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
    JsonNode panels = dashboard().get("panels");
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
