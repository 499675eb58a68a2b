package dev.pigeonhole.spring.boot;

import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.Overview;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/**
 * Down while a store does not answer, and when an inbox has not worked for longer than it takes to
 * start its loops again. Lag and poisoned deliveries are told, and change nothing: another node
 * would not heal them.
 */
final class PigeonholeHealthIndicator extends AbstractHealthIndicator {
  private final Watched.Supplier watched;
  private final Duration patience;

  /** Since when, by {@link System#nanoTime}, each of those that do not work does not. */
  private final Map<String, Long> idleSince = new ConcurrentHashMap<>();

  PigeonholeHealthIndicator(Watched.Supplier watched, Duration patience) {
    super("Pigeonhole cannot be asked");
    this.watched = watched;
    this.patience = patience;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    boolean up = true;
    for (Watched each : watched.get()) {
      Overview overview = each.admin().overview(Count.MOST);
      boolean working = each.working().getAsBoolean();
      up &= working || !isDead(each.name());
      if (working) {
        idleSince.remove(each.name());
      }
      builder.withDetail(each.name(), details(overview, working));
    }
    builder.status(up ? Status.UP : Status.DOWN);
  }

  private boolean isDead(String name) {
    long now = System.nanoTime();
    long since = idleSince.computeIfAbsent(name, first -> now);
    return now - since > patience.toNanos();
  }

  private static Map<String, Object> details(Overview overview, boolean working) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("working", working);
    details.put(
        "lag",
        overview.lag().stream()
            .map(HandlerLag::lag)
            .max(Comparator.naturalOrder())
            .orElse(Duration.ZERO)
            .toString());
    details.put("poisoned", sum(overview).toString());
    details.put("lanesWithoutNode", overview.unownedLanes());
    return details;
  }

  private static Count sum(Overview overview) {
    return overview.counts().stream().map(HandlerCounts::poisoned).reduce(Count.of(0), Count::plus);
  }
}
