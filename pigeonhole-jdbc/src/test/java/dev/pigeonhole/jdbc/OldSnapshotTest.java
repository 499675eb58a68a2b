package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A caller whose snapshot is older than a delivery that a duplicate has added, and that has come to
 * its end since. No repeat is counted meanwhile, so only the delivery touches the message.
 */
class OldSnapshotTest {

  private static Stream<Arguments> callers() {
    return Stream.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB)
        .flatMap(
            kind ->
                Stream.of(
                    Arguments.of(kind, Connection.TRANSACTION_REPEATABLE_READ),
                    Arguments.of(kind, Connection.TRANSACTION_SERIALIZABLE)));
  }

  private interface Use {
    void run(JdbcStore store, Connection connection, NewMessage message) throws Exception;
  }

  private void inOldSnapshot(DatabaseKind kind, int isolation, Outcome end, Use use)
      throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Rig rig = Rig.on(database);
      database.execute("CREATE TABLE anything (id INT)");
      NewMessage message = rig.message("m", rig.a, rig.b);
      rig.accept(rig.message("m", rig.a));
      database.execute(
          "UPDATE %s SET last_repeat_at = '2999-01-01 00:00:00'".formatted(rig.table("message")));
      try (Connection connection = database.dataSource().getConnection()) {
        connection.setTransactionIsolation(isolation);
        connection.setAutoCommit(false);
        takeSnapshot(connection);
        assertThat(rig.accept(message)).isInstanceOf(AcceptResult.Known.class);
        assertThat(rig.settle(List.of(rig.only(rig.b)), end)).isEmpty();
        try {
          use.run(rig.store, connection, message);
          connection.commit();
        } catch (StoreException e) {
          assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
          connection.rollback();
        }
      }
      assertThat(rig.open(rig.b, 10)).isEmpty();
      assertThat(DuplicateRows.in(database)).isEmpty();
    }
  }

  private static void takeSnapshot(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM anything")) {
      assertThat(rows.next()).isTrue();
    }
  }

  @ParameterizedTest
  @MethodSource("callers")
  void aDuplicateAddsNoDeliveryThatHasBeenCompletedSince(DatabaseKind kind, int isolation)
      throws Exception {
    inOldSnapshot(
        kind,
        isolation,
        new Outcome.Completed(),
        (store, connection, message) -> {
          AcceptResult.Known known =
              (AcceptResult.Known) store.acceptor().accept(connection, List.of(message)).get(0);
          assertThat(known.added()).isEmpty();
        });
  }

  @ParameterizedTest
  @MethodSource("callers")
  void aGuardDoesNotRunBesideADeliveryThatHasBeenPoisonedSince(DatabaseKind kind, int isolation)
      throws Exception {
    AtomicInteger runs = new AtomicInteger();
    inOldSnapshot(
        kind,
        isolation,
        new Outcome.Poisoned(Rig.failure("x"), true),
        (store, connection, message) -> {
          Guards.Request request =
              new Guards.Request(
                  message,
                  message.handlers().get(1),
                  null,
                  Duration.ofSeconds(1),
                  Duration.ofSeconds(30),
                  null);
          Guards.Verdict verdict =
              store
                  .guards()
                  .orElseThrow()
                  .join(
                      connection,
                      request,
                      (inner, handler) -> {
                        runs.incrementAndGet();
                        return null;
                      });
          assertThat(verdict).isInstanceOf(Guards.Verdict.Known.class);
        });
    assertThat(runs).hasValue(0);
  }
}
