package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.Transactions.WorkFailedException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.LockWaits;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.lang.reflect.Proxy;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Wrapper;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Handlers that lose their transaction without noticing. */
public class TransactionFaultTest {

  private static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static Transactions transactions(Rig rig) {
    return rig.store.transactions().orElseThrow();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aSwallowedDeadlockRollsBackAndBurnsNoAttempt(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    database.execute("CREATE TABLE effect (id int PRIMARY KEY, n int)");
    for (int id = 1; id <= 50; id++) {
      database.execute("INSERT INTO effect VALUES (?, 0)", id);
    }
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);
    CountDownLatch oneLocked = new CountDownLatch(1);
    CountDownLatch twoLocked = new CountDownLatch(1);
    // So that the victim is ours: PostgreSQL ends the one that finds the deadlock, and the other
    // one never looks; MariaDB ends the one that has changed less.
    CompletableFuture<Void> other =
        CompletableFuture.runAsync(
            () -> {
              try (Connection connection = database.dataSource().getConnection()) {
                connection.setAutoCommit(false);
                if (database.kind() == DatabaseKind.POSTGRES) {
                  run(connection, "SET LOCAL deadlock_timeout = '1h'");
                }
                run(connection, "UPDATE effect SET n = 7 WHERE id > 1");
                twoLocked.countDown();
                oneLocked.await();
                run(connection, "UPDATE effect SET n = 7 WHERE id = 1");
                connection.rollback();
              } catch (SQLException | InterruptedException e) {
                throw new AssertionError(e);
              }
            });
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                transactions(rig)
                    .run(
                        List.of(delivery),
                        (row, connection) -> {
                          run(connection, "UPDATE effect SET n = 1 WHERE id = 1");
                          oneLocked.countDown();
                          twoLocked.await();
                          LockWaits.awaitOne(database);
                          try {
                            run(connection, "UPDATE effect SET n = 1 WHERE id = 2");
                          } catch (SQLException swallowed) {
                            if (database.kind() == DatabaseKind.MARIADB) {
                              // MariaDB goes on in a new transaction.
                              run(connection, "UPDATE effect SET n = 2 WHERE id = 3");
                            }
                          }
                        }))
        .satisfies(
            e -> {
              assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
              assertThat(e.deadlock()).isTrue();
            });
    other.get(300, TimeUnit.SECONDS);
    assertThat(database.count("SELECT sum(n) FROM effect")).isZero();
    assertThat(rig.only(rig.a)).isEqualTo(delivery);
    assertThat(rig.count("receipt")).isZero();
  }

  @Test
  void my04_aSwallowedLockTimeoutRollsBack() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Rig rig = Rig.on(database);
      database.execute("CREATE TABLE effect (id int PRIMARY KEY, n int)");
      database.execute("INSERT INTO effect VALUES (1, 0), (2, 0)");
      rig.accept(rig.message("m", rig.a));
      Delivery delivery = rig.only(rig.a);
      try (Connection other = database.dataSource().getConnection()) {
        other.setAutoCommit(false);
        run(other, "UPDATE effect SET n = 7 WHERE id = 2");
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(
                () ->
                    transactions(rig)
                        .run(
                            List.of(delivery),
                            (row, connection) -> {
                              run(connection, "SET innodb_lock_wait_timeout = 1");
                              run(connection, "UPDATE effect SET n = 1 WHERE id = 1");
                              try {
                                run(connection, "UPDATE effect SET n = 1 WHERE id = 2");
                              } catch (SQLException swallowed) {
                                // as careless handlers do
                              }
                            }))
            .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT));
        other.rollback();
      }
      assertThat(database.count("SELECT sum(n) FROM effect")).isZero();
      assertThat(rig.only(rig.a)).isEqualTo(delivery);
    }
  }

  @Test
  void my05_aProcedureThatCommitsOnMariaDbCostsARepeatAndNeverAMessage() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Rig rig = Rig.on(database);
      database.execute("CREATE TABLE effect (id int PRIMARY KEY)");
      database.execute(
          "CREATE PROCEDURE sneaky() BEGIN INSERT INTO effect VALUES (1); COMMIT; END");
      refusesAsLost(rig, "CALL sneaky()");
    }
  }

  @Test
  void aFunctionThatCommitsOnH2CostsARepeatAndNeverAMessage() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Rig rig = Rig.on(database);
      database.execute(
          "CREATE ALIAS sneaky FOR '" + TransactionFaultTest.class.getName() + ".sneaky'");
      refusesAsLost(rig, "CALL sneaky()");
    }
  }

  /** Called by H2, with a connection that nobody has wrapped. */
  public static void sneaky(Connection connection) throws SQLException {
    connection.commit();
  }

  /** Called by H2, as if a deadlock had ended the transaction. */
  public static void victim() throws SQLException {
    throw new SQLException("chosen as the victim", "40001", 40001);
  }

  private static void refusesAsLost(Rig rig, String sql) throws Exception {
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);
    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                transactions(rig).run(List.of(delivery), (row, connection) -> run(connection, sql)))
        .satisfies(
            e -> assertThat(((InboxException) e.getCause()).code()).isEqualTo(ErrorCode.TX_LOST));
    assertThat(rig.only(rig.a)).isEqualTo(delivery);
    assertThat(rig.count("receipt")).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void markingWaitsForNoUnitThatStillRunsElsewhere(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("held", rig.a));
    rig.accept(rig.message("free", rig.a));
    List<Delivery> both = rig.open(rig.a, 10);
    Delivery held = both.get(0);
    rig.accept(rig.message("settled", rig.a));
    List<Delivery> all = rig.open(rig.a, 10);
    Delivery settled = all.stream().filter(each -> !both.contains(each)).findFirst().orElseThrow();
    assertThat(rig.complete(List.of(settled))).isEmpty();
    AtomicReference<MarkResult> result = new AtomicReference<>();
    AtomicBoolean waited = new AtomicBoolean();
    transactions(rig)
        .run(
            List.of(held),
            (row, connection) -> {
              CompletableFuture<MarkResult> marking =
                  CompletableFuture.supplyAsync(() -> rig.store.deliveries().mark(all, 7, false));
              while (!marking.isDone()) { // a wait for a lock takes seconds before it is given up
                waited.compareAndSet(false, LockWaits.isOne(database));
              }
              result.set(marking.get());
            });

    assertThat(result.get()).isEqualTo(new MarkResult(Set.of(settled), Set.of(held)));
    assertThat(waited).isFalse();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aUnitThatIsAbortedInAStatementFreesItsRowAtOnce(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    String sleep = postgres ? "SELECT pg_sleep(600)" : "SELECT SLEEP(600)";
    String sleepers =
        postgres
            ? "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                + " AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()"
            : "SELECT count(*) FROM information_schema.processlist"
                + " WHERE info LIKE '%SLEEP(600)%' AND id <> connection_id()";
    CompletableFuture<Connection> used = new CompletableFuture<>();
    CompletableFuture<Void> aborting =
        used.thenAcceptAsync(
            connection -> {
              try {
                Eventually.until(
                    "the statement to run",
                    Duration.ofMinutes(5),
                    () -> database.count(sleepers) > 0);
                connection.abort(Runnable::run);
              } catch (SQLException e) {
                throw new AssertionError(e);
              }
            });
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                transactions(rig)
                    .run(
                        List.of(delivery),
                        (row, connection) -> {
                          used.complete(connection);
                          run(connection, sleep);
                        }));
    aborting.get(300, TimeUnit.SECONDS);

    assertThat(rig.complete(List.of(delivery))).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d122_theConnectionIsDeadAfterTheUnit(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    AtomicReference<Connection> kept = new AtomicReference<>();
    AtomicReference<Statement> statement = new AtomicReference<>();
    transactions(rig)
        .run(
            List.of(rig.only(rig.a)),
            (row, connection) -> {
              kept.set(connection);
              statement.set(connection.createStatement());
              try (ResultSet result = statement.get().executeQuery("SELECT 1")) {
                assertThat(result.getStatement().getConnection()).isSameAs(connection);
              }
            });

    assertThat(kept.get().isClosed()).isTrue();
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> kept.get().createStatement())
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> statement.get().execute("SELECT 1"))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));
  }

  /** Reaches something that knows its connection. */
  @FunctionalInterface
  private interface Path<T> {
    T from(Connection connection) throws SQLException;
  }

  private static ResultSet rows(Connection connection, String sql) throws SQLException {
    ResultSet rows = connection.createStatement().executeQuery(sql);
    rows.next();
    return rows;
  }

  private static Map<String, Path<ResultSet>> pathsToRows(DatabaseKind kind) {
    Map<String, Path<ResultSet>> paths = new LinkedHashMap<>();
    paths.put("query", connection -> rows(connection, "SELECT 1"));
    paths.put("prepared", connection -> connection.prepareStatement("SELECT 1").executeQuery());
    paths.put(
        "generated keys",
        connection -> {
          Statement statement = connection.createStatement();
          statement.executeUpdate(
              "INSERT INTO effect (n) VALUES (1)", Statement.RETURN_GENERATED_KEYS);
          return statement.getGeneratedKeys();
        });
    paths.put("metadata", connection -> connection.getMetaData().getTables(null, null, "x", null));
    if (kind != DatabaseKind.MARIADB) {
      String array = "SELECT ARRAY[1, 2]";
      paths.put("array", connection -> rows(connection, array).getArray(1).getResultSet());
      paths.put(
          "array as object",
          connection -> ((Array) rows(connection, array).getObject(1)).getResultSet());
      paths.put(
          "array that was made",
          connection -> {
            Array made = connection.createArrayOf("integer", new Object[] {1, 2});
            PreparedStatement statement =
                connection.prepareStatement("SELECT CAST(? AS integer ARRAY)");
            statement.setArray(1, made);
            ResultSet rows = statement.executeQuery();
            rows.next();
            assertThat(rows.getArray(1).toString()).contains("1", "2");
            return rows.getArray(1).getResultSet();
          });
    }
    return paths;
  }

  private static Rig withEffects(TestDatabase database) {
    Rig rig = Rig.on(database);
    database.execute(
        database.kind() == DatabaseKind.MARIADB
            ? "CREATE TABLE effect (id int AUTO_INCREMENT PRIMARY KEY, n int)"
            : "CREATE TABLE effect (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int)");
    rig.accept(rig.message("m", rig.a));
    return rig;
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whateverKnowsItsConnectionKnowsTheGuardedOne(TestDatabase database) throws Exception {
    Rig rig = withEffects(database);
    Map<String, Connection> reached = new LinkedHashMap<>();
    AtomicReference<Connection> given = new AtomicReference<>();
    transactions(rig)
        .run(
            List.of(rig.only(rig.a)),
            (row, connection) -> {
              given.set(connection);
              reached.put("statement", connection.createStatement().getConnection());
              reached.put("prepared", connection.prepareStatement("SELECT 1").getConnection());
              reached.put("call", connection.prepareCall("{call abs(1)}").getConnection());
              reached.put("metadata", connection.getMetaData().getConnection());
              for (Map.Entry<String, Path<ResultSet>> path :
                  pathsToRows(database.kind()).entrySet()) {
                ResultSet rows = path.getValue().from(connection);
                assertThat(Proxy.isProxyClass(rows.getClass())).as(path.getKey()).isTrue();
                if (rows.getStatement() != null) {
                  reached.put(path.getKey() + ", rows", rows.getStatement().getConnection());
                }
              }
            });

    assertThat(reached).hasSizeGreaterThan(6);
    reached.forEach((path, connection) -> assertThat(connection).as(path).isSameAs(given.get()));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void nothingThatTheConnectionLeadsToCanBeUnwrapped(TestDatabase database) throws Exception {
    Rig rig = withEffects(database);
    Map<String, Path<Wrapper>> paths = new LinkedHashMap<>();
    paths.put("connection", connection -> connection);
    paths.put("statement", Connection::createStatement);
    paths.put("prepared", connection -> connection.prepareStatement("SELECT 1"));
    paths.put(
        "parameters", connection -> connection.prepareStatement("SELECT 1").getParameterMetaData());
    paths.put("metadata", Connection::getMetaData);
    paths.put("columns", connection -> rows(connection, "SELECT 1").getMetaData());
    pathsToRows(database.kind()).forEach((name, path) -> paths.put(name + ", rows", path::from));
    for (Map.Entry<String, Path<Wrapper>> path : paths.entrySet()) {
      assertThatExceptionOfType(WorkFailedException.class)
          .as(path.getKey())
          .isThrownBy(
              () ->
                  transactions(rig)
                      .run(
                          List.of(rig.only(rig.a)),
                          (row, connection) -> {
                            Wrapper wrapper = path.getValue().from(connection);
                            assertThat(wrapper.isWrapperFor(wrapper.getClass())).isFalse();
                            wrapper.unwrap(Wrapper.class);
                          }))
          .satisfies(
              e ->
                  assertThat(e.getCause())
                      .isInstanceOfSatisfying(
                          InboxException.class,
                          refusal ->
                              assertThat(refusal.code())
                                  .isEqualTo(ErrorCode.TX_COMMIT_OR_ROLLBACK)));
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aStatementOfTheHandlerThatTakesTooLongIsTheHandlersFailure(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);
    String endless =
        switch (database.kind()) {
          case POSTGRES -> "SELECT pg_sleep(600)";
          case MARIADB -> "SELECT SLEEP(600)";
          case H2 -> "SELECT count(*) FROM SYSTEM_RANGE(1, 1000000000000) WHERE RAND() < 0";
        };

    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                transactions(rig)
                    .run(
                        List.of(delivery),
                        (row, connection) -> {
                          try (Statement statement = connection.createStatement()) {
                            statement.setQueryTimeout(1);
                            statement.execute(endless);
                          }
                        }))
        .satisfies(failed -> assertThat(failed.delivery()).isEqualTo(delivery))
        .withCauseInstanceOf(SQLException.class);
    assertThat(rig.only(rig.a)).isEqualTo(delivery);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void planSettingsOfTheHandlersTransactionAreLeftAlone(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    String setting =
        database.kind() == DatabaseKind.POSTGRES
            ? "SELECT current_setting('enable_seqscan') || current_setting('lock_timeout')"
            : "SELECT CONCAT(@@innodb_lock_wait_timeout, @@sql_mode)";
    AtomicReference<String> inside = new AtomicReference<>();
    transactions(rig)
        .run(
            List.of(rig.only(rig.a)),
            (row, connection) -> {
              rig.store.acceptor().accept(connection, List.of(rig.message("n", rig.b)));
              rig.store.acceptor().accept(connection, List.of(rig.message("n", rig.a, rig.b)));
              try (Statement statement = connection.createStatement();
                  ResultSet result = statement.executeQuery(setting)) {
                result.next();
                inside.set(result.getString(1));
              }
            });

    assertThat(inside.get())
        .isEqualTo(database.rows(setting).get(0).values().iterator().next().toString());
    assertThat(rig.count("delivery")).isEqualTo(2);
  }
}
