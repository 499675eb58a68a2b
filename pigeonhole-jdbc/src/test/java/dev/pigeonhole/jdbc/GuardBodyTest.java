package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the body of a guarded run may do to its transaction, and what it may not. */
class GuardBodyTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private GuardRig rig;

  @AfterEach
  void close() {
    rig.close();
  }

  @FunctionalInterface
  private interface Use {
    void of(Connection connection) throws SQLException;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private Guarded<Integer> charge() throws SQLException {
    return rig.guard.run(
        GuardRig.key("k-1"),
        tx -> {
          GuardRig.write(tx, "k-1");
          return 1;
        });
  }

  /** The run fails with this code, also where the body says nothing of it, and leaves nothing. */
  private void refused(String code, Use use) {
    for (boolean silent : new boolean[] {false, true}) {
      assertThatExceptionOfType(InboxException.class)
          .as(code)
          .isThrownBy(
              () ->
                  rig.guard.run(
                      GuardRig.key("k-1"),
                      tx -> {
                        GuardRig.write(tx, "k-1");
                        try {
                          use.of(tx.connection());
                        } catch (InboxException e) {
                          if (!silent) {
                            throw e;
                          }
                        }
                        return null;
                      }))
          .satisfies(e -> assertThat(code).startsWith(e.code().text()));
      assertUntouched(code);
    }
  }

  private void assertUntouched(String what) {
    assertThat(rig.effects("k-1")).as(what).isZero();
    assertThat(rig.count("receipt")).as(what).isZero();
    assertThat(rig.count("message")).as(what).isZero();
  }

  /**
   * The refused insert that tells a repeat is the guard's own, and none of the handler's errors.
   */
  @ParameterizedTest
  @MethodSource(ALL)
  void aRepeatInTheTransactionOfAHandlerOrOfAnotherRunIsNoErrorOfTheirs(TestDatabase database)
      throws SQLException {
    rig = GuardRig.on(database);
    charge();
    Inbox inbox =
        Inbox.on(rig.store)
            .channel(
                Channel.named("c")
                    .on(String.class)
                    .handleInTransaction(
                        "h",
                        (text, tx) -> {
                          GuardRig.write(tx.connection(), "handler");
                          rig.guard.run(tx.connection(), GuardRig.key("k-1"), inner -> 2);
                        })
                    .build())
            .build();
    inbox.accept("c", Message.of("m-1", "hello"));
    inbox.drain();

    Guarded<Integer> outer =
        rig.guard.run(
            GuardRig.key("outer"),
            tx -> {
              GuardRig.write(tx, "outer");
              inbox.accept(tx.connection(), "c", Message.of("m-1", "hello"));
              rig.guard.run(tx.connection(), GuardRig.key("k-1"), inner -> 2);
              return 3;
            });

    assertThat(outer).isEqualTo(new Guarded.Ran<>(3));
    assertThat(rig.effects("handler")).isOne();
    assertThat(rig.effects("outer")).isOne();
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void jd04_d120_whatWouldEndTheTransactionOfABodyIsRefused(TestDatabase database)
      throws SQLException {
    rig = GuardRig.on(database);
    Map<String, Use> uses = new LinkedHashMap<>();
    uses.put("PH-TX-01 commit", Connection::commit);
    uses.put("PH-TX-01 rollback", Connection::rollback);
    uses.put("PH-TX-02 autocommit", connection -> connection.setAutoCommit(true));
    uses.put("PH-TX-03 close", Connection::close);
    uses.put("PH-TX-03 abort", connection -> connection.abort(Runnable::run));
    uses.forEach(this::refused);

    assertThat(charge()).isInstanceOf(Guarded.Ran.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void my05_d121_statementsThatEndTheTransactionOfABodyAreRefused(TestDatabase database)
      throws SQLException {
    rig = GuardRig.on(database);
    for (String sql :
        List.of(
            "COMMIT",
            "ROLLBACK",
            "SET AUTOCOMMIT = 1",
            "CREATE TABLE other (id INT)",
            "DROP TABLE effect",
            "TRUNCATE TABLE effect")) {
      refused("PH-TX-04 " + sql, connection -> execute(connection, sql));
    }
    assertThat(charge()).isInstanceOf(Guarded.Ran.class);
  }

  @ParameterizedTest
  @EnumSource(names = {"MARIADB", "H2"})
  void b41_my05_d125_aReceiptThatWasCommittedTooEarlyIsTakenBack(DatabaseKind kind)
      throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));
    rig.createProcedures();
    IllegalStateException own = new IllegalStateException("after the commit");

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      execute(tx.connection(), "CALL sneaky()");
                      GuardRig.write(tx, "k-1");
                      return 1;
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));
    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      execute(tx.connection(), "CALL sneaky()");
                      throw own;
                    }))
        .isSameAs(own);

    assertThat(rig.effects("k-1")).isZero();
    assertThat(rig.count("receipt")).isZero();
    assertThat(charge())
        .as("who was told of a failure comes again")
        .isEqualTo(new Guarded.Ran<>(1));
  }

  @ParameterizedTest
  @EnumSource(names = {"MARIADB", "H2"})
  void b40_my05_d125_whatWasUndoneAfterSuchACommitIsRunAgain(DatabaseKind kind)
      throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));
    rig.createProcedures();
    AtomicInteger runs = new AtomicInteger();

    Guarded<Integer> result =
        rig.guard.run(
            GuardRig.key("k-1"),
            tx -> {
              boolean first = runs.incrementAndGet() == 1;
              if (first) {
                execute(tx.connection(), "CALL sneaky()");
              }
              GuardRig.write(tx, "k-1");
              if (first) {
                execute(tx.connection(), "CALL victim()");
              }
              return runs.get();
            });

    assertThat(result).isEqualTo(new Guarded.Ran<>(2));
    assertThat(rig.effects("k-1")).isOne();
    assertThat(charge()).isInstanceOf(Guarded.Repeat.class);
  }

  @ParameterizedTest
  @EnumSource(names = {"MARIADB", "H2"})
  void my05_d125_whatACallersProcedureHasCommittedTooEarlyIsNoReceipt(DatabaseKind kind)
      throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));
    rig.createProcedures();
    try (Connection connection = rig.begin()) {
      assertThatExceptionOfType(InboxException.class)
          .isThrownBy(
              () ->
                  rig.guard.run(
                      connection,
                      GuardRig.key("k-1"),
                      tx -> {
                        execute(tx.connection(), "CALL sneaky()");
                        return 1;
                      }))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));
      connection.rollback();
    }

    assertThat(rig.count("receipt")).as("nobody could take it back").isOne();
    assertThat(charge()).isEqualTo(new Guarded.Ran<>(1));
    assertThat(charge()).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b41_m7_d125_aReceiptThatCannotBeCompletedFailsTheRun(TestDatabase database)
      throws SQLException {
    rig = GuardRig.on(database);
    // PostgreSQL gets the receipt in the end, and looks for the message then.
    boolean inTheEnd = database.kind() == DatabaseKind.POSTGRES;
    String rows = GuardRig.table(database, inTheEnd ? "message" : "receipt");
    GuardBody<Integer, SQLException> saboteur =
        tx -> {
          GuardRig.write(tx, "k-1");
          execute(tx.connection(), "DELETE FROM " + rows);
          return 1;
        };

    try (Connection connection = rig.begin()) {
      assertThatExceptionOfType(InboxException.class)
          .isThrownBy(() -> rig.guard.run(connection, GuardRig.key("k-1"), saboteur))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));
      connection.commit();
    }
    assertUntouched("nothing was recorded, so nothing was done");

    if (!inTheEnd) {
      assertThatExceptionOfType(InboxException.class)
          .isThrownBy(() -> rig.guard.run(GuardRig.key("k-1"), saboteur))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));
      assertUntouched("nothing was recorded, so nothing was done");
    }
    assertThat(charge()).isInstanceOf(Guarded.Ran.class);
  }

  /** As if a body could get at what is inside of its connection. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aReceiptIsNotCommittedInAnotherTransactionThanTheOneItsRunBeganIn(boolean commits)
      throws SQLException {
    rig = GuardRig.on(TestDatabases.open(DatabaseKind.POSTGRES));
    AtomicReference<Connection> inside = new AtomicReference<>();
    GuardRig watched = rig.through(remembering(rig.dataSource, inside), options -> options);
    watched.guard.run(GuardRig.key("warm"), tx -> 1);

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                watched.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      if (commits) {
                        inside.get().commit();
                      } else {
                        inside.get().rollback();
                      }
                      GuardRig.write(tx, "k-1");
                      return 1;
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));

    assertThat(rig.effects("k-1")).isZero();
    assertThat(charge()).isInstanceOf(Guarded.Ran.class);
    assertThat(rig.effects("k-1")).isOne();
    watched.guard.close();
  }

  /** PostgreSQL refuses the row in the statement that also commits. */
  @ParameterizedTest
  @MethodSource(ALL)
  void aChangedTableOfReceiptsIsNoFaultOfTheBody(TestDatabase database) throws SQLException {
    rig = GuardRig.on(database);
    String receipts = GuardRig.table(database, "receipt");
    database.execute("ALTER TABLE " + receipts + " ADD seq_x INT NOT NULL");

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(this::charge)
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_ERROR))
        .withMessageContaining("The database refused a statement")
        .satisfies(e -> assertThat(e).message().containsIgnoringCase("seq_x"));
    assertUntouched("refused with its receipt");

    database.execute("ALTER TABLE " + receipts + " DROP COLUMN seq_x");
    assertThat(charge()).isInstanceOf(Guarded.Ran.class);
  }

  private static DataSource remembering(DataSource source, AtomicReference<Connection> last) {
    return (DataSource)
        Proxy.newProxyInstance(
            GuardBodyTest.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (self, method, args) -> {
              Object answer = method.invoke(source, args);
              if (answer instanceof Connection connection) {
                last.set(connection);
              }
              return answer;
            });
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void jd11_d122_theConnectionWorksOnEveryThreadUntilTheBodyHasReturned(TestDatabase database)
      throws SQLException {
    rig = GuardRig.on(database);
    AtomicReference<Connection> kept = new AtomicReference<>();
    rig.guard.run(
        GuardRig.key("k-1"),
        tx -> {
          kept.set(tx.connection());
          CompletableFuture.runAsync(() -> write(tx.connection())).join();
          return 1;
        });

    assertThat(rig.effects("k-1")).as("written by another thread").isOne();
    assertThatExceptionOfType(CompletionException.class)
        .isThrownBy(() -> CompletableFuture.runAsync(() -> write(kept.get())).join())
        .satisfies(
            e ->
                assertThat(e.getCause())
                    .isInstanceOfSatisfying(
                        InboxException.class,
                        late -> assertThat(late.code()).isEqualTo(ErrorCode.TX_LOST)));
    assertThat(rig.effects("k-1")).as("written too late").isOne();
  }

  private static void write(Connection connection) {
    try {
      GuardRig.write(connection, "k-1");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void my04_aLockTimeoutThatTheBodySwallowsRollsBack() throws SQLException {
    TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB);
    rig = GuardRig.on(database);
    database.execute("INSERT INTO effect (id) VALUES ('held')");
    List<SQLException> swallowed = new ArrayList<>();
    try (Connection other = rig.begin()) {
      other.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED); // holds the row alone
      execute(other, "UPDATE effect SET note = 'mine' WHERE id = 'held'");
      assertThatExceptionOfType(InboxException.class)
          .isThrownBy(
              () ->
                  rig.guard.run(
                      GuardRig.key("k-1"),
                      tx -> {
                        GuardRig.write(tx, "k-1");
                        execute(tx.connection(), "SET innodb_lock_wait_timeout = 1");
                        try {
                          execute(tx.connection(), "UPDATE effect SET note = 'ours'");
                        } catch (SQLException e) {
                          swallowed.add(e);
                        }
                        return 1;
                      }))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_SQL_ERROR_SWALLOWED));
      other.rollback();
    }
    assertThat(swallowed)
        .singleElement()
        .satisfies(e -> assertThat(e.getErrorCode()).isEqualTo(1205));
    assertUntouched("the statement alone was undone by the server");
  }

  /** H2 closes a database whose thread is interrupted, so it is left out. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void t8_anInterruptAfterTheWorkDoesNotCostTheReceipt(DatabaseKind kind) throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));

    Guarded<Integer> result =
        rig.guard.run(
            GuardRig.key("k-1"),
            tx -> {
              GuardRig.write(tx, "k-1");
              Thread.currentThread().interrupt();
              return 1;
            });

    assertThat(Thread.interrupted()).isTrue();
    assertThat(result).isEqualTo(new Guarded.Ran<>(1));
    assertThat(charge()).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void m10_aBodyThatIsInterruptedLeavesItsKeyFreeAtOnce(DatabaseKind kind) throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));
    InterruptedException cut = new InterruptedException("shutdown");

    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      GuardRig.write(tx, "k-1");
                      Thread.currentThread().interrupt();
                      throw cut;
                    }))
        .isSameAs(cut);

    assertThat(Thread.interrupted()).isTrue();
    assertUntouched("nothing is reserved");
    assertThat(charge()).isEqualTo(new Guarded.Ran<>(1));
  }
}
