package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** What the properties are called, and what they are without a word. */
class PropertiesTest {

  @Test
  void defaultsAreThoseOfTheEngine() {
    PigeonholeProperties defaults = bind(Map.of());

    assertThat(defaults.inbox().enabled()).isTrue();
    assertThat(defaults.inbox().retry().maxAttempts()).isEqualTo(5);
    assertThat(defaults.inbox().deadAfter()).hasSeconds(8);
    assertThat(defaults.inbox().concurrency()).isNull();
    assertThat(defaults.outbox().enabled()).isFalse();
    assertThat(defaults.handlers()).isEmpty();
  }

  @Test
  void handlersInheritWhatTheyDoNotSay() {
    PigeonholeProperties properties =
        bind(
            Map.of(
                "pigeonhole.inbox.retry.max-attempts", "9",
                "pigeonhole.handlers.reserve-stock.retry.initial-delay", "3s",
                "pigeonhole.handlers.[order.placed].rate", "2.5"));

    PigeonholeProperties.OwnRetry own = properties.handlers().get("reserve-stock").retry();
    assertThat(own.or(properties.inbox().retry()))
        .isEqualTo(
            new PigeonholeProperties.Retry(9, Duration.ofSeconds(3), Duration.ofMinutes(5), true));
    assertThat(properties.handlers().get("order.placed").rate()).isEqualTo(2.5);
  }

  @Test
  void everyPropertyIsInTheMetadataWithADescription() throws IOException {
    String metadata;
    try (InputStream in =
        PigeonholeProperties.class.getResourceAsStream(
            "/META-INF/spring-configuration-metadata.json")) {
      metadata = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    Matcher described =
        Pattern.compile(
                "\"name\": \"(pigeonhole\\.[^\"]+)\",\\s+\"type\": \"[^\"]+\",\\s+\"description\": \"[^\"]+\"")
            .matcher(metadata);
    TreeSet<String> documented = new TreeSet<>();
    while (described.find()) {
      documented.add(described.group(1));
    }
    assertThat(documented)
        .containsAll(KnownProperties.names().stream().filter(each -> !each.contains("*")).toList());
  }

  @Test
  void thePageListsEveryPropertyAndNoOther() throws IOException {
    TreeSet<String> listed = new TreeSet<>();
    boolean inside = false;
    for (String line : Files.readAllLines(Path.of("../docs/spring.md"))) {
      inside = line.startsWith("#") ? line.equals("### Properties") : inside;
      if (inside && line.startsWith("| `")) {
        Matcher name = Pattern.compile("`([^`]+)`").matcher(line.substring(0, line.indexOf(" | ")));
        while (name.find()) {
          listed.add("pigeonhole." + name.group(1));
        }
      }
    }
    assertThat(listed).isEqualTo(new TreeSet<>(KnownProperties.names()));
  }

  @Test
  void aWrongNameIsAnsweredWithTheNearestOrWithWhatReplacedIt() {
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.dead-afer"))
        .isEqualTo("Did you mean pigeonhole.inbox.dead-after?");
    assertThat(KnownProperties.wayOut("pigeonhole.handlers.reserve.time-out"))
        .isEqualTo("Did you mean pigeonhole.handlers.reserve.timeout?");
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.max-retries"))
        .contains("pigeonhole.inbox.retry.max-attempts");
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.polling-interval")).contains("polling.min");
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.stuck-threshold")).contains("dead-after");
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.lock.name")).contains("no lock");
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.retention.lock-name")).contains("gone");
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.reject-messages-without-key"))
        .contains("pigeonhole.inbox.missing-id");
    assertThat(KnownProperties.wayOut("pigeonhole.x")).isEqualTo("Remove it.");
  }

  static PigeonholeProperties bind(Map<String, String> values) {
    return new Binder(new MapConfigurationPropertySource(values))
        .bindOrCreate("pigeonhole", Bindable.of(PigeonholeProperties.class));
  }
}
