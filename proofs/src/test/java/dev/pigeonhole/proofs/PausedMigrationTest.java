package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Stops a process in the middle of a migration (SIGSTOP) while it holds the lock that all others
 * wait for, starts a second one, and resumes the first one afterwards.
 *
 * <p>If the session had no idle limit, no other process could start as long as the first one is
 * stopped. If the resumed process continued on another session, it could undo what was done since.
 */
class PausedMigrationTest {
  static final String POINT = CrashPointTest.MIGRATION;
  private static final int EARLY_STATEMENTS = 12;
  private static final Duration LIMIT = Duration.ofMinutes(4);

  /** Before that the lock is certainly held: the server waits for 5 s. */
  private static final Duration SURELY_HELD = Duration.ofSeconds(4);

  static Stream<Arguments> places() {
    Random random = new Random(Size.seed("paused migrations"));
    List<Arguments> places = new ArrayList<>();
    for (DatabaseKind kind : List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB)) {
      for (int i = 0; i < Size.of(1, 4); i++) {
        places.add(Arguments.of(kind, 1 + random.nextInt(EARLY_STATEMENTS)));
      }
    }
    return places.stream();
  }

  @ParameterizedTest
  @MethodSource("places")
  void aPausedMigrationDelaysTheNextProcessOnlyUntilTheServerEndsItsSession(
      DatabaseKind kind, int visit, @TempDir Path directory) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind);
        TestDatabase clean = TestDatabases.open(kind)) {
      Schema.migrate(clean.dataSource());
      OwnLogin login = OwnLogin.on(database);
      Path end = directory.resolve("resumed");
      try (JavaProcess paused = pausedWithTheLock(login, visit, end)) {
        long began = System.nanoTime();
        try (JavaProcess next = migration(database).start()) {
          assertThat(next.waitFor(LIMIT)).as("%s", next.output()).isZero();
        }
        Duration waited = Duration.ofNanos(System.nanoTime() - began);
        assertThat(Migration.result(database)).isEqualTo(Migration.result(clean));

        StandStill.resume(paused, end);
        assertThat(paused.waitFor(LIMIT)).as("%s", paused.output()).isEqualTo(1);
        assertThat(String.join("\n", paused.output())).contains("PH-DB-16");
        assertThat(Migration.result(database)).isEqualTo(Migration.result(clean));
        System.out.printf(
            "%s paused at visit %d of %s: the next process has migrated after %d ms%n",
            kind, visit, POINT, waited.toMillis());
      }
    }
  }

  /** On a machine that is very slow, the server may end the session before we look. */
  private static JavaProcess pausedWithTheLock(OwnLogin login, int visit, Path end) {
    for (int attempt = 1; ; attempt++) {
      JavaProcess paused = StandStill.at(POINT, visit, end, migration(login.forProcess())).start();
      try {
        Instant reached = StandStill.stop(paused, LIMIT);
        if (holdsTheLock(login)) {
          return paused;
        }
        assertThat(Duration.between(reached, Instant.now()))
            .as("time until the server ended the session (attempt %d)", attempt)
            .isGreaterThan(SURELY_HELD);
        assertThat(attempt).as("attempts").isLessThan(10);
      } catch (Throwable e) {
        paused.close();
        throw e;
      }
      paused.close();
    }
  }

  private static boolean holdsTheLock(OwnLogin login) {
    if (login.database().kind() == DatabaseKind.POSTGRES) {
      return !login.idleWithLocks().isEmpty()
          && login
                  .database()
                  .count(
                      """
                  SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
                  WHERE locktype = 'advisory' AND granted AND usename = ?
                  """,
                      login.forProcess().user())
              == 1;
    }
    long holder =
        login.database().count("SELECT COALESCE(IS_USED_LOCK(?), 0)", nameOfLock(login.database()));
    return login.sessions().contains(Long.toString(holder));
  }

  private static String nameOfLock(TestDatabase database) {
    String tables = "`" + database.schema() + "`.`pigeonhole_`";
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(tables.getBytes(StandardCharsets.UTF_8));
      return "pigeonhole." + HexFormat.of().formatHex(digest).substring(0, 32);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static JavaProcess.Builder migration(TestDatabase database) {
    return JavaProcess.of(Migration.class)
        .heap("64m")
        .args(database.jdbcUrl(), database.user(), database.password());
  }
}
