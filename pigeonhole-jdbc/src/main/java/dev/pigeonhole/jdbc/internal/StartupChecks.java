package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreSettings;
import java.lang.reflect.InvocationTargetException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.OptionalInt;
import javax.sql.DataSource;

/** Everything safety needs of the database, looked at before anything runs, in one report. */
final class StartupChecks {

  private static final Duration TOLERATED_SKEW = Duration.ofMinutes(1);
  private static final Duration ABSURD_SKEW = Duration.ofDays(365);

  /** How the pools that people use call their size. */
  private static final List<String> SIZES =
      List.of("getMaximumPoolSize", "getMaxTotal", "getMaxActive", "getMaxPoolSize");

  private final Jdbc jdbc;
  private final DataSource dataSource;
  private final boolean sharedWithBeats;
  private final boolean notifying;

  StartupChecks(Jdbc jdbc, DataSource dataSource, boolean sharedWithBeats, boolean notifying) {
    this.jdbc = jdbc;
    this.dataSource = dataSource;
    this.sharedWithBeats = sharedWithBeats;
    this.notifying = notifying;
  }

  /** Answers warnings; throws with every problem together. */
  List<String> run(StoreSettings settings) {
    Findings findings = new Findings();
    pool(settings, findings);
    jdbc.read(
        session -> {
          ServerChecks.run(session, settings, findings);
          if (!findings.has(ErrorCode.DATABASE_UNSUPPORTED)) { // its catalogue may look different
            SchemaChecks.run(session, findings);
          }
          clock(session, findings);
          if (notifying) {
            notifications(session, findings);
          }
          return true;
        });
    jdbc.transaction(
        session -> {
          ServerChecks.isolation(session, findings);
          return true;
        });
    if (!findings.problems().isEmpty()) {
      throw new ConfigurationException(findings.problems());
    }
    return findings.warnings();
  }

  private void pool(StoreSettings settings, Findings findings) {
    int slots = Math.max(0, settings.connections() - StoreSettings.ENGINE_CONNECTIONS);
    int engine = settings.connections() - slots;
    int needed = settings.connections() + (sharedWithBeats ? 1 : 0) + (notifying ? 1 : 0);
    OptionalInt size = poolSize();
    findings.problemIf(
        size.isPresent() && size.getAsInt() < needed,
        ErrorCode.POOL_TOO_SMALL,
        ("The pool has %d connections and the inbox may hold %d at once: %d (accepting, reading,"
                + " settling)%s%s%s = %d. Enlarge the pool to %d%s%s.")
            .formatted(
                size.orElse(0),
                needed,
                engine,
                slots == 0 ? "" : " + %d (slots of transactional handlers)".formatted(slots),
                sharedWithBeats ? " + 1 (beats)" : "",
                notifying ? " + 1 (to hear of other nodes)" : "",
                needed,
                needed,
                slots == 0 ? "" : ", or lower the concurrency of transactional handlers",
                sharedWithBeats ? ", or take the beats elsewhere with beatsOn(…)" : ""));
  }

  private static void notifications(Session session, Findings findings) throws SQLException {
    String wayOut = " Leave it out: nodes find everything by polling.";
    if (!session.dialect.notifies()) {
      findings.problem(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "The store is notifying(), which only PostgreSQL can, and the database is %s.%s"
              .formatted(session.dialect.name(), wayOut));
    } else if (!Notifications.possible(session.connection)) {
      findings.problem(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "The store is notifying(), and %s gives no connection of PostgreSQL's own driver.%s"
              .formatted(session.connection.getClass().getName(), wayOut));
    }
  }

  /** Pools have no interface in common, so their size is asked by name. */
  private OptionalInt poolSize() {
    for (String name : SIZES) {
      try {
        Object size = dataSource.getClass().getMethod(name).invoke(dataSource);
        if (size instanceof Integer number && number > 0) {
          return OptionalInt.of(number);
        }
      } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
        // Not the name that this pool uses; perhaps the next.
      }
    }
    return OptionalInt.empty();
  }

  /** A little is normal; beyond a year somebody's clock has never been set. */
  private void clock(Session session, Findings findings) throws SQLException {
    if (jdbc.clock != null) {
      return;
    }
    Instant before = Instant.now();
    Instant there = session.now();
    Instant here = before.plus(Duration.between(before, Instant.now()).dividedBy(2));
    Duration ahead = Duration.between(here, there);
    Duration skew = ahead.abs();
    String measured =
        "The clock of the database is %d s %s that of this host: %s there, %s here."
            .formatted(
                skew.plusMillis(500).toSeconds(),
                ahead.isNegative() ? "behind" : "ahead of",
                there.truncatedTo(ChronoUnit.SECONDS),
                here.truncatedTo(ChronoUnit.SECONDS));
    if (skew.compareTo(ABSURD_SKEW) > 0) {
      findings.problem(
          ErrorCode.DATABASE_CLOCK,
          measured
              + " One of them has never been set: once it is, everything that waits falls due, or"
              + " nothing does. Set it first.");
    } else if (skew.compareTo(TOLERATED_SKEW) > 0) {
      findings.warning(
          ErrorCode.DATABASE_CLOCK,
          measured + " Due times follow the database. Synchronise both clocks.");
    }
  }
}
