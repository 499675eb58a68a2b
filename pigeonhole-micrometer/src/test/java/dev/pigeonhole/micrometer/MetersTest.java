package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.support.TestDatabase;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What an ordinary day leaves in a registry. */
class MetersTest {
  private final MeterRegistry meters = new SimpleMeterRegistry();

  private Day day(TestDatabase database) {
    return new Day(Shop.in(database), meters, OpenObservations.timing(meters));
  }

  private long count(String name, String... tags) {
    return meters.get(name).tags(tags).timers().stream().mapToLong(Timer::count).sum();
  }

  private double gauge(String name, String... tags) {
    return meters.get(name).tags(tags).gauge().value();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void whatHappenedIsCountedUnderItsOutcome(TestDatabase database) {
    Day day = day(database);
    day.pass(3);

    // three, the one that came twice, the bad one, the open one, and the one that was sent
    String accept = "pigeonhole.inbox.accept";
    assertThat(count(accept, "inbox", "shop", "channel", "orders", "outcome", "accepted"))
        .isEqualTo(7);
    assertThat(count(accept, "outcome", "repeat")).isEqualTo(1);
    assertThat(count(accept, "outcome", "conflict")).isEqualTo(1);
    String process = "pigeonhole.inbox.process";
    assertThat(
            count(
                process,
                "inbox",
                "shop",
                "handler",
                "reserve-stock",
                "type",
                "OrderPlaced",
                "outcome",
                "completed"))
        .isEqualTo(6);
    assertThat(count(process, "outcome", "poisoned", "error", "PoisonException")).isEqualTo(1);
    assertThat(count("pigeonhole.inbox.lag", "inbox", "shop", "handler", "reserve-stock"))
        .isEqualTo(6);
    assertThat(count("pigeonhole.guard", "handler", "charge-card", "outcome", "ran")).isEqualTo(1);
    assertThat(count("pigeonhole.inbox.poll", "inbox", "shop")).isPositive();
    assertThat(count("pigeonhole.inbox.settle", "inbox", "shop")).isPositive();
    assertThat(
            meters.get("pigeonhole.inbox.batch.size").tags("inbox", "shop").summary().totalAmount())
        .isEqualTo(7);
    assertThat(
            meters
                .get("pigeonhole.inbox.lease")
                .tags("inbox", "shop", "outcome", "acquired")
                .counter()
                .count())
        .isPositive();
    assertThat(
            count(
                "pigeonhole.outbox.publish",
                "outbox",
                "shop-out",
                "channel",
                "OrderPlaced",
                "outcome",
                "accepted"))
        .isEqualTo(1);
    assertThat(
            count(
                "pigeonhole.outbox.relay",
                "outbox",
                "shop-out",
                "channel",
                "OrderPlaced",
                "outcome",
                "completed"))
        .isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void gaugesSayWhatTheDatabaseSays(TestDatabase database) {
    Shop shop = Shop.in(database);
    new Day(shop, new SimpleMeterRegistry(), OpenObservations.timing(meters)).pass(0);
    // Another process, after the first has ended: nothing of it is in memory.
    Day next = new Day(shop, new SimpleMeterRegistry(), OpenObservations.timing(meters));
    next.inbox.accept("orders", Message.of("x", new OrderPlaced("x")));
    InboxMetrics.to(meters).watch(next.inbox);

    String deliveries = "pigeonhole.inbox.deliveries";
    String[] handler = {"inbox", "shop", "handler", "reserve-stock"};
    assertThat(gauge(deliveries, "inbox", "shop", "handler", "reserve-stock", "state", "poisoned"))
        .isEqualTo(1);
    assertThat(gauge(deliveries, "inbox", "shop", "handler", "reserve-stock", "state", "pending"))
        .isEqualTo(1);
    assertThat(gauge("pigeonhole.inbox.oldest.age", handler)).isNotNegative();
    assertThat(gauge("pigeonhole.inbox.conflicts", "inbox", "shop")).isEqualTo(1);
    assertThat(gauge("pigeonhole.inbox.lanes", "inbox", "shop", "state", "owned")).isZero();
    assertThat(gauge("pigeonhole.inbox.lanes", "inbox", "shop", "state", "unowned")).isPositive();
    assertThat(gauge("pigeonhole.inbox.leaked.slots", "inbox", "shop")).isZero();
    assertThat(count("pigeonhole.inbox.settle", "inbox", "shop"))
        .as("there before anything has been settled")
        .isZero();
  }

  /** Ids, content and texts of exceptions differ each time; meters must not. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void moreMessagesMakeNoMoreMeters(TestDatabase database) {
    Day day = day(database);
    day.pass(1);
    Set<Meter.Id> after = ids();
    day.pass(20);
    assertThat(ids()).isEqualTo(after);

    Map<String, Set<String>> keys = new TreeMap<>();
    for (Meter.Id id : after) {
      keys.computeIfAbsent(id.getName(), name -> new TreeSet<>())
          .addAll(id.getTags().stream().map(tag -> tag.getKey()).toList());
    }
    assertThat(keys.values().stream().flatMap(Set::stream).collect(Collectors.toSet()))
        .containsExactlyInAnyOrder(
            "inbox", "outbox", "channel", "handler", "type", "state", "outcome", "error");
  }

  private Set<Meter.Id> ids() {
    return meters.getMeters().stream().map(Meter::getId).collect(Collectors.toSet());
  }
}
