package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process is paused in the middle of a transaction, with whatever it has locked there. Another
 * node takes over: its other handlers settle as if nothing had happened, and what is locked is done
 * as soon as the database has ended the session of the one that is silent, which wakes up only
 * after that.
 */
class PausedProcessTest {
  /** All that lie within a transaction; those of guards are tried by {@link PausedGuardTest}. */
  private static final List<String> POINTS =
      List.of(
          "failure.before-commit", // the one of the daily run
          "accept.in-batch",
          "accept.before-commit",
          "settle.before-commit",
          "poison.before-commit",
          "mark.before-commit",
          "operation.before-commit",
          "retry.before-commit",
          "prune.before-commit",
          "tx.locked",
          "tx.work-done",
          "tx.before-commit");

  private static final int OTHERS = 2_000;
  private static final Duration LIMIT = Duration.ofMinutes(4);

  static Stream<Arguments> places() {
    return POINTS.stream()
        .limit(Size.of(1, POINTS.size()))
        .flatMap(
            point ->
                Size.databases(DatabaseKind.MARIADB).stream()
                    .map(kind -> Arguments.of(kind, point)));
  }

  @ParameterizedTest
  @MethodSource("places")
  void aPausedProcessDelaysNoOtherHandler(DatabaseKind kind, String point, @TempDir Path ledgers)
      throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Tables.createEffects(database);
      dieSoThatOthersHaveToMark(database, ledgers);
      Path end = ledgers.resolve("resumed");
      try (JavaProcess paused = StandStill.at(point, 1, end, life(database, ledgers, 2)).start();
          Ledger ledger = Ledger.open(Life.ledgerOf(ledgers, 3))) {
        StandStill.stop(paused, LIMIT);
        Life living = new Life(database, ledgers, ledger, 3);
        Inbox inbox =
            living
                .inbox(JdbcStore.of(database.pool(10)))
                .channel(
                    Channel.named("others")
                        .on(String.class)
                        .handleMessage("other", received -> {})
                        .build())
                .build();
        try (RunningInbox running = inbox.start()) {
          rate(database, inbox, "warm-up-", 500);
          long meanwhile = rate(database, inbox, "meanwhile-", OTHERS);
          Eventually.until(
              "what was locked to be done", LIMIT, () -> Tables.open(database).isEmpty());
          StandStill.resume(paused, end);
          paused.awaitLine(line -> line.contains("declared dead"), LIMIT);
          paused.kill9();
          paused.waitFor(LIMIT);
          Eventually.until("the rest to be done", LIMIT, () -> Tables.open(database).isEmpty());
          long normal = rate(database, inbox, "normal-", OTHERS);
          System.out.printf(
              "%s paused at %s: others settle %d a second, normally %d (%.2f)%n",
              kind, point, meanwhile, normal, meanwhile / (double) normal);
          Eventually.until(Duration.ofMinutes(3), running::healthy);
        }
      }
      assertThat(
              database.count(
                  "SELECT count(*) FROM (SELECT handler, message FROM effect"
                      + " GROUP BY handler, message HAVING count(*) > 1) AS twice"))
          .as("effects that are there twice")
          .isZero();
      assertThat(DuplicateRows.in(database)).isEmpty();
      assertThat(Tables.count(database, "receipt") + Tables.count(database, "poison"))
          .as("everything that was accepted has been done")
          .isGreaterThanOrEqualTo(2L * OTHERS + accepted(ledgers));
    }
  }

  /** Answers how many messages were accepted and settled in a second. */
  private static long rate(TestDatabase database, Inbox inbox, String prefix, int count) {
    String settled =
        """
        SELECT count(*) FROM %s r JOIN %s h ON h.key_id = r.key_id JOIN %s m ON m.seq = r.seq
        WHERE h.handler_key = 'other' AND m.id LIKE '%s%%'
        """
            .formatted(
                Tables.name(database, "receipt"),
                Tables.name(database, "handler"),
                Tables.name(database, "message"),
                prefix);
    long began = System.nanoTime();
    for (int from = 0; from < count; from += 500) {
      int first = from;
      inbox.accept(
          "others",
          IntStream.range(first, first + 500).mapToObj(i -> Message.of(prefix + i, "x")).toList());
    }
    Eventually.until("the other handler to be done", LIMIT, () -> database.count(settled) == count);
    return count * 1_000L / Math.max(1, Duration.ofNanos(System.nanoTime() - began).toMillis());
  }

  private static long accepted(Path ledgers) {
    return IntStream.rangeClosed(1, 2)
        .mapToObj(life -> Ledger.read(Life.ledgerOf(ledgers, life)))
        .flatMap(List::stream)
        .filter(line -> line.startsWith("ANSWER ") && line.endsWith(" Accepted"))
        .mapToLong(line -> Autopsy.handlersOf(line.split(" ")[1]).size())
        .sum();
  }

  private static void dieSoThatOthersHaveToMark(TestDatabase database, Path ledgers) {
    try (JavaProcess process =
        life(database, ledgers, 1)
            .systemProperty("pigeonhole.crash", "run.after-handler:halt:5")
            .start()) {
      process.waitFor(LIMIT);
    }
  }

  private static JavaProcess.Builder life(TestDatabase database, Path ledgers, int life) {
    return JavaProcess.of(Life.class)
        .heap("128m")
        .args(database.jdbcUrl(), database.user(), database.password(), ledgers, life);
  }
}
