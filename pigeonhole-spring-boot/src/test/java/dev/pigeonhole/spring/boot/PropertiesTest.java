package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** What the properties are called, and what they inherit. */
class PropertiesTest {

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
            new PigeonholeProperties.Retry(
                9, 20, Duration.ofSeconds(3), Duration.ofMinutes(5), true));
    assertThat(properties.handlers().get("order.placed").rate()).isEqualTo(2.5);
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
    assertThat(KnownProperties.wayOut("pigeonhole.inbox.channel-requirement"))
        .contains("every channel has an inbox");
    assertThat(KnownProperties.wayOut("pigeonhole.channels.orders.allow-without-inbox"))
        .contains("every channel has an inbox");
    assertThat(KnownProperties.wayOut("pigeonhole.inboxes.shop.dead-afer"))
        .isEqualTo("Did you mean pigeonhole.inboxes.shop.dead-after?");
    assertThat(KnownProperties.wayOut("pigeonhole.inboxes.shop.max-retries"))
        .contains("retry.max-attempts");
    assertThat(KnownProperties.wayOut("pigeonhole.handlers.reserve.max-retries"))
        .contains("retry.max-attempts");
    assertThat(KnownProperties.wayOut("pigeonhole.jdbc.schema")).contains("database-schema");
    assertThat(KnownProperties.wayOut("pigeonhole.jdbc.validate")).contains("always checked");
    assertThat(KnownProperties.wayOut("pigeonhole.x")).isEqualTo("Remove it.");
  }

  /** Among properties of the JVM, which others have as well. */
  @Test
  void aNameIsMisspeltOnlyInOneOfOurGroups() {
    assertThat(
            List.of(
                "pigeonhole.inbox.name",
                "pigeonhole.lease-guard.enabled",
                "pigeonhole.inbox.deadAfter",
                "pigeonhole.handlers.[order.placed].timeout",
                "pigeonhole.inboxes.shop.channels",
                "pigeonhole.inboxes.shop.channels[1]",
                "pigeonhole.size",
                "pigeonhole.inbox",
                "pigeonhole.build.number",
                "user.inbox.x"))
        .noneMatch(PropertiesTest::misspelt);
    assertThat(
            List.of(
                "pigeonhole.inbox.nam",
                "pigeonhole.inbox.name.first",
                "pigeonhole.lease-guard.enable",
                "pigeonhole.handlers.order.placed.timeout",
                "pigeonhole.inboxes.shop",
                "pigeonhole.handlers[0]",
                "pigeonhole.channels.orders.allow-without-inbox"))
        .allMatch(PropertiesTest::misspelt);
  }

  private static boolean misspelt(String name) {
    return KnownProperties.isMisspelt(ConfigurationPropertyName.adapt(name, '.'));
  }

  static PigeonholeProperties bind(Map<String, String> values) {
    return new Binder(new MapConfigurationPropertySource(values))
        .bindOrCreate("pigeonhole", Bindable.of(PigeonholeProperties.class));
  }
}
