package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Overview;
import dev.pigeonhole.support.TestDatabase;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** How often gauges ask the store, and what they show if it does not answer. */
class SnapshotTest {
  private final AtomicInteger asked = new AtomicInteger();
  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);

  private static Inbox inbox(Shop shop) {
    Channel orders = Channel.named("orders").on(OrderPlaced.class).handle("h", order -> {}).build();
    return Inbox.on(shop.store).named("shop").codec(Shop.CODEC).channel(orders).build();
  }

  private InboxAdmin counted(InboxAdmin admin) {
    return (InboxAdmin)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {InboxAdmin.class},
            (self, method, args) -> {
              asked.incrementAndGet();
              try {
                return method.invoke(admin, args);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private double pending() {
    return meters
        .get("pigeonhole.inbox.deliveries")
        .tags("handler", "h", "state", "pending")
        .gauge()
        .value();
  }

  private void scrape() {
    meters.getMeters().forEach(meter -> meter.measure().forEach(each -> each.getValue()));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void theStoreIsAskedOnceInAnIntervalHoweverOftenSomebodyLooks(TestDatabase database) {
    Inbox inbox = inbox(Shop.in(database));
    InboxMetrics.to(meters).watch("shop", counted(inbox.admin()));
    for (int i = 0; i < 10; i++) {
      scrape();
    }
    assertThat(asked).hasValue(1);

    inbox.accept("orders", Message.of("m", new OrderPlaced("m")));
    assertThat(pending()).isZero();
    clock.add(Duration.ofSeconds(15));
    assertThat(pending()).isEqualTo(1);
    scrape();
    assertThat(asked).hasValue(2);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void aStoreThatIsDownLeavesNoNumbersAndNoException(TestDatabase database) {
    Shop shop = Shop.in(database);
    PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    InboxAdmin admin = inbox(shop).admin();
    InboxMetrics.to(meters).watch("shop", counted(admin));
    InboxMetrics.to(prometheus, GaugeOptions.defaults().every(Duration.ofNanos(1)))
        .watch("shop", admin);
    assertThat(pending()).isZero();

    shop.pool.close();
    clock.add(Duration.ofSeconds(15));
    assertThat(pending()).isNaN();
    assertThat(pending()).isNaN();
    assertThat(asked).as("a failure is kept for an interval, too").hasValue(2);
    assertThat(prometheus.scrape())
        .contains(
            "pigeonhole_inbox_deliveries{handler=\"h\",inbox=\"shop\",state=\"pending\"} NaN");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void gaugesWhoseStoreIsDownAtFirstFindTheirHandlersLater(TestDatabase database) {
    Inbox inbox = inbox(Shop.in(database));
    AtomicInteger failures = new AtomicInteger(1);
    InboxAdmin admin =
        (InboxAdmin)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {InboxAdmin.class},
                (self, method, args) -> {
                  if (failures.getAndDecrement() > 0) {
                    throw new IllegalStateException("down");
                  }
                  return method.invoke(inbox.admin(), args);
                });
    InboxMetrics.to(meters).watch("shop", admin);
    assertThat(meters.find("pigeonhole.inbox.deliveries").gauges()).isEmpty();
    assertThat(meters.get("pigeonhole.inbox.conflicts").gauge().value()).isNaN();

    clock.add(Duration.ofSeconds(15));
    scrape();
    assertThat(pending()).isZero();
  }

  @Test
  void withAnExecutorNobodyWaitsAndAnAnswerThatDoesNotComeGrowsOld() {
    Queue<Runnable> tasks = new ArrayDeque<>();
    Snapshot snapshot =
        new Snapshot(
            "shop",
            () -> {
              asked.incrementAndGet();
              return new Overview(List.of(), List.of(), asked.get(), 0, Count.of(0));
            },
            (asking, overview) -> {},
            GaugeOptions.defaults().on(tasks::add),
            clock);
    assertThat(snapshot.read(each -> each.ownedLanes())).isNaN();
    assertThat(snapshot.read(each -> each.ownedLanes())).isNaN();
    assertThat(tasks).as("one question at a time").hasSize(1);
    tasks.remove().run();
    assertThat(snapshot.read(each -> each.ownedLanes())).isEqualTo(1);

    clock.add(Duration.ofSeconds(16));
    assertThat(snapshot.read(each -> each.ownedLanes())).isEqualTo(1);
    clock.add(Duration.ofSeconds(30));
    assertThat(snapshot.read(each -> each.ownedLanes())).isNaN();
    tasks.remove().run();
    assertThat(snapshot.read(each -> each.ownedLanes())).isEqualTo(2);
  }
}
