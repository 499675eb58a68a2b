package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreSettings;
import java.lang.reflect.InvocationTargetException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import javax.sql.DataSource;

/** Everything safety needs of the database, looked at before anything runs, in one report. */
final class StartupChecks {

  private static final Duration TOLERATED_SKEW = Duration.ofMinutes(1);

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
          SchemaChecks.run(session, findings);
          clock(session, findings);
          if (notifying) {
            notifications(session, findings);
          }
          return true;
        });
    if (!findings.problems().isEmpty()) {
      throw new ConfigurationException(findings.problems());
    }
    return findings.warnings();
  }

  private void pool(StoreSettings settings, Findings findings) {
    int needed = settings.connections() + (sharedWithBeats ? 1 : 0) + (notifying ? 1 : 0);
    OptionalInt size = poolSize();
    findings.problemIf(
        size.isPresent() && size.getAsInt() < needed,
        ErrorCode.POOL_TOO_SMALL,
        ("The pool has %d connections and the inbox may hold %d at once: %d for accepting,"
                + " reading, settling and transactional handlers%s%s. Enlarge the pool, or lower the concurrency.")
            .formatted(
                size.orElse(0),
                needed,
                settings.connections(),
                sharedWithBeats ? ", and 1 for its beats" : "",
                notifying ? ", and 1 to hear of other nodes" : ""));
  }

  private static void notifications(Session session, Findings findings) throws SQLException {
    String wayOut = " Leave it out: nodes find everything by polling.";
    if (!session.dialect.name().equals("postgresql")) {
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

  private void clock(Session session, Findings findings) throws SQLException {
    if (jdbc.clock != null) {
      return;
    }
    Duration skew = Duration.between(session.now(), Instant.now()).abs();
    if (skew.compareTo(TOLERATED_SKEW) > 0) {
      findings.warning(
          ErrorCode.DATABASE_CLOCK,
          ("The clocks of this host and of the database differ by %d s. Due times follow the"
                  + " database.")
              .formatted(skew.toSeconds()));
    }
  }
}
