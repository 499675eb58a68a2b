package dev.pigeonhole.internal.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Pruning.Fate;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** When a guard forgets, where nothing else was said. */
class GuardForgettingTest {
  private static final Instant NOW = Instant.parse("2026-03-04T05:06:07Z");

  private final Duration keep = new GuardSettings.Draft().freeze().keepReceipts();
  private final GuardRetention retention =
      new GuardRetention(nobody(), new Events("inbox", List.of()), keep);

  private static Maintenance nobody() {
    return (Maintenance)
        Proxy.newProxyInstance(
            Maintenance.class.getClassLoader(),
            new Class<?>[] {Maintenance.class},
            (proxy, method, args) -> {
              throw new AssertionError(method);
            });
  }

  private Fate after(Duration age) {
    Instant came = NOW.minus(Duration.ofDays(30));
    return retention.judge(
        new Pruning.Finished(
            "t", "guard", came, NOW, false, Map.of(1, came, 2, NOW.minus(age)), Map.of()));
  }

  @Test
  void b71_aReceiptIsForgottenAfterSevenDaysByALookEveryHour() {
    assertThat(after(Duration.ofDays(7).minusNanos(1_000))).isEqualTo(Fate.KEEP);
    assertThat(after(Duration.ofDays(7))).isEqualTo(Fate.DELETE);
    assertThat(retention.betweenRounds()).isEqualTo(Duration.ofHours(1));
  }

  @Test
  void v9_aFleetThatStartsTogetherDoesNotLookTogether() {
    Random random = new Random(4);
    List<Duration> first =
        random.longs(50).mapToObj(seed -> retention.first(new Random(seed))).toList();

    assertThat(first)
        .allMatch(wait -> !wait.isNegative() && wait.compareTo(Duration.ofHours(1)) <= 0)
        .anyMatch(wait -> wait.compareTo(Duration.ofMinutes(10)) < 0)
        .anyMatch(wait -> wait.compareTo(Duration.ofMinutes(50)) > 0)
        .doesNotHaveDuplicates();
  }
}
