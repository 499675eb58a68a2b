package dev.pigeonhole.spring.boot;

import dev.pigeonhole.InboxException;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.Overview;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/**
 * Down while a store does not answer, and when an inbox is found not working for longer than it
 * takes to start its loops again. Lag, poisoned deliveries and sources that do not receive are
 * told, and change nothing: another node would not heal them. What a source says of its trouble is
 * in the log and not here, because it may quote a message.
 */
final class PigeonholeHealthIndicator extends AbstractHealthIndicator {
  private final Watched.Supplier watched;
  private final LongSupplier nanoTime;

  /** Since when, by {@link #nanoTime}, each of those that do not work was found so. */
  private final Map<String, Long> idleSince = new ConcurrentHashMap<>();

  PigeonholeHealthIndicator(Watched.Supplier watched, LongSupplier nanoTime) {
    super("Pigeonhole cannot be asked");
    this.watched = watched;
    this.nanoTime = nanoTime;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    boolean up = true;
    for (Watched each : watched.get()) {
      Map<String, Object> details = new LinkedHashMap<>();
      builder.withDetail(each.name(), details);
      up &= isWorking(each, details);
      up &= answers(each, details, builder);
    }
    builder.status(up ? Status.UP : Status.DOWN);
  }

  private boolean isWorking(Watched each, Map<String, Object> details) {
    Optional<LatestRun> run = each.run();
    if (run.isEmpty()) {
      details.put("working", "unknown");
      return true;
    }
    boolean working = run.get().working();
    details.put("working", working);
    details.put("sourcesInTrouble", run.get().sourcesInTrouble().stream().sorted().toList());
    if (working) {
      idleSince.remove(each.name());
    }
    return working || !isDead(each.name(), run.get().restartDelay().multipliedBy(2));
  }

  private boolean isDead(String name, Duration patience) {
    long now = nanoTime.getAsLong();
    long since = idleSince.computeIfAbsent(name, first -> now);
    return now - since > patience.toNanos();
  }

  /** Of several, one whose store is down must not hide how the others are. */
  private static boolean answers(
      Watched each, Map<String, Object> details, Health.Builder builder) {
    Overview overview;
    try {
      overview = each.admin().overview(Count.MOST);
    } catch (InboxException e) {
      details.put("store", e.code().text());
      builder.withException(e);
      return false;
    }
    details.put(
        "lag",
        overview.lag().stream()
            .map(HandlerLag::lag)
            .max(Comparator.naturalOrder())
            .orElse(Duration.ZERO)
            .toString());
    details.put("poisoned", sum(overview).toString());
    details.put("lanesWithoutNode", overview.unownedLanes());
    return true;
  }

  private static Count sum(Overview overview) {
    return overview.counts().stream().map(HandlerCounts::poisoned).reduce(Count.of(0), Count::plus);
  }
}
