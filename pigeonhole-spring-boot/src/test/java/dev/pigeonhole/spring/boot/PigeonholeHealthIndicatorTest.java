package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.boot.AutoConfigurationTest.Order;
import dev.pigeonhole.support.Eventually;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;

/** What health says of inboxes that run, that do not, and that it knows nothing of. */
class PigeonholeHealthIndicatorTest {
  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE); // such clocks go over the edge

  @Test
  void eachIsJudgedByItsOwnRestartDelay() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(TwoChannels.class)
        .withPropertyValues(
            "spring.datasource.hikari.maximum-pool-size=20",
            "pigeonhole.inbox.background-processing=true",
            "pigeonhole.inboxes.quick.restart-delay=1s",
            "pigeonhole.inboxes.quick.channels=orders",
            "pigeonhole.inboxes.quick.table-prefix=quick_",
            "pigeonhole.inboxes.slow.restart-delay=60s")
        .run(
            context -> {
              PigeonholeHealthIndicator health = health(context);
              assertThat(details(health, "quick")).containsEntry("working", true);
              PigeonholeLifecycle quick = lifecycle(context, "quickInboxProcessor");
              PigeonholeLifecycle slow = lifecycle(context, "slowInboxProcessor");
              quick.stop();
              slow.stop();

              assertThat(status(health)).as("found so for the first time").isEqualTo(Status.UP);
              assertThat(details(health, "quick")).containsEntry("working", false);
              now.addAndGet(Duration.ofSeconds(2).toNanos());
              assertThat(status(health)).as("twice the second").isEqualTo(Status.UP);
              now.incrementAndGet();
              assertThat(status(health)).as("longer than that").isEqualTo(Status.DOWN);

              quick.start();
              assertThat(status(health)).as("only the slow one is idle").isEqualTo(Status.UP);
              now.addAndGet(Duration.ofSeconds(118).toNanos() - 1);
              assertThat(status(health)).as("twice the minute").isEqualTo(Status.UP);
              now.incrementAndGet();
              assertThat(status(health)).as("longer than that").isEqualTo(Status.DOWN);

              slow.start();
              assertThat(status(health)).isEqualTo(Status.UP);
              slow.stop();
              assertThat(status(health)).as("it counts anew").isEqualTo(Status.UP);
            });
  }

  @Test
  void lanesWithoutANodeAreToldUntilOneHasThem() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .run(
            context -> {
              PigeonholeHealthIndicator health = health(context);
              assertThat(details(health, "inbox")).containsEntry("lanesWithoutNode", 64);
              assertThat(status(health)).isEqualTo(Status.UP);

              context.getBean(PigeonholeLifecycle.class).start();
              Eventually.passes(
                  Duration.ofMinutes(5),
                  () -> assertThat(details(health, "inbox")).containsEntry("lanesWithoutNode", 0));
            });
  }

  @Test
  void ofAnInboxThatTheApplicationStartsItselfNobodyKnowsWhetherItWorks() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(AutoConfigurationTest.OwnInbox.class)
        .run(
            context -> {
              PigeonholeHealthIndicator health = health(context);
              assertThat(status(health)).isEqualTo(Status.UP);
              assertThat(details(health, "inbox"))
                  .containsEntry("working", "unknown")
                  .containsEntry("poisoned", "0")
                  .doesNotContainKey("sourcesInTrouble");
              PigeonholeEndpoint endpoint = new PigeonholeEndpoint(watched(context));
              assertThat(endpoint.all().get("inbox").working()).isNull();
            });
  }

  /** The real one by another clock. */
  private PigeonholeHealthIndicator health(ApplicationContext context) {
    assertThat(context.getBean(PigeonholeHealthIndicator.class).health().getStatus())
        .isEqualTo(Status.UP);
    return new PigeonholeHealthIndicator(watched(context), now::get);
  }

  private static Watched.Supplier watched(ApplicationContext context) {
    return Watched.all(context.getBeanProvider(Watched.Supplier.class));
  }

  private static PigeonholeLifecycle lifecycle(ApplicationContext context, String name) {
    return context.getBean(name, PigeonholeLifecycle.class);
  }

  private static Status status(PigeonholeHealthIndicator health) {
    return health.health().getStatus();
  }

  @SuppressWarnings("unchecked") // that is what it puts there
  private static Map<String, Object> details(PigeonholeHealthIndicator health, String name) {
    return (Map<String, Object>) health.health().getDetails().get(name);
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoChannels {
    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {}

    @InboxHandler(channel = "parcels", key = "pack")
    void pack(Order order) {}
  }
}
