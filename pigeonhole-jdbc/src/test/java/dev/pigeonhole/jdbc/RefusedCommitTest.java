package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.Transactions.WorkFailedException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** PostgreSQL checks deferred constraints at COMMIT: what they refuse is the handler's work. */
class RefusedCommitTest {
  private static final String CUSTOMER = "CREATE TABLE customer (id int PRIMARY KEY)";
  private static final String EFFECT =
      """
      CREATE TABLE effect (
        id int UNIQUE DEFERRABLE INITIALLY DEFERRED,
        customer int REFERENCES customer DEFERRABLE INITIALLY DEFERRED,
        amount int)
      """;
  private static final String CHECK =
      """
      CREATE FUNCTION check_amount() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.amount = 91 THEN RAISE EXCEPTION 'ours' USING ERRCODE = 'U0001'; END IF;
        IF NEW.amount = 92 THEN RAISE EXCEPTION 'nobody' USING ERRCODE = '42501'; END IF;
        IF NEW.amount = 93 THEN PERFORM no_such_function(); END IF;
        IF 100 / NEW.amount < 5 THEN RAISE EXCEPTION 'too much'; END IF;
        RETURN NULL;
      END $$
      """;
  private static final String CHECKED =
      """
      CREATE CONSTRAINT TRIGGER amount AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION check_amount()
      """;

  private final BlockingQueue<InboxEvent.Poisoned> poisoned = new LinkedBlockingQueue<>();
  private final BlockingQueue<InboxEvent.Completed> completed = new LinkedBlockingQueue<>();

  private static TestDatabase database() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    InboxTables.in(database);
    for (String sql : List.of(CUSTOMER, EFFECT, CHECK, CHECKED)) {
      database.execute(sql);
    }
    database.execute("INSERT INTO customer VALUES (1)");
    return database;
  }

  private static void insert(Connection connection, String row) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("INSERT INTO effect VALUES " + row);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "23503 | (1, 2, 1)",
        "23505 | (1, 1, 1), (1, 1, 1)",
        "22012 | (1, 1, 0)",
        "P0001 | (1, 1, 50)",
        "U0001 | (1, 1, 91)",
        "42501 | (1, 1, 92)",
        "42883 | (1, 1, 93)"
      })
  void whatTheCommitRefusesIsTheHandlersFailureAndItsConnectionIsAsGoodAsNew(
      String state, String row) throws Exception {
    try (TestDatabase database = database()) {
      HikariDataSource pool = database.pool(5);
      Rig rig = Rig.on(database, pool);
      rig.accept(rig.message("m", rig.a));
      Delivery delivery = rig.only(rig.a);
      Transactions transactions = rig.store.transactions().orElseThrow();

      assertThatExceptionOfType(WorkFailedException.class)
          .isThrownBy(
              () ->
                  transactions.run(
                      List.of(delivery), (each, connection) -> insert(connection, row)))
          .satisfies(failed -> assertThat(failed.delivery()).isEqualTo(delivery))
          .satisfies(
              failed ->
                  assertThat(failed.getCause())
                      .isInstanceOfSatisfying(
                          SQLException.class,
                          cause -> assertThat(cause.getSQLState()).isEqualTo(state)));
      assertThat(rig.only(rig.a)).isEqualTo(delivery);
      assertThat(rig.count("receipt")).isZero();

      assertThat(
              transactions.run(
                  List.of(delivery), (each, connection) -> insert(connection, "(1, 1, 1)")))
          .containsExactly(delivery);
      assertThat(database.count("SELECT count(*) FROM effect")).isEqualTo(1);
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "23503 | (1, 2, 1)",
        "23505 | (1, 1, 1), (1, 1, 1)",
        "22012 | (1, 1, 0)",
        "P0001 | (1, 1, 50)",
        "U0001 | (1, 1, 91)",
        "42501 | (1, 1, 92)",
        "42883 | (1, 1, 93)"
      })
  void whatTheCommitRefusesIsNotRunAgainByAGuardAndItsKeyIsFree(String state, String row)
      throws Exception {
    try (TestDatabase database = database();
        Guard guard = Guard.on(JdbcStore.of(database.pool(5))).build()) {
      GuardKey key = GuardKey.of("h", "t", "k-1");
      AtomicInteger runs = new AtomicInteger();

      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(
              () ->
                  guard.run(
                      key,
                      tx -> {
                        insert(tx.connection(), row);
                        return runs.incrementAndGet();
                      }))
          .satisfies(
              refused -> {
                assertThat(refused.kind()).isEqualTo(StoreException.Kind.PERMANENT);
                assertThat(refused).hasMessageContaining(state);
              });

      assertThat(runs).hasValue(1);
      Guarded<Integer> again =
          guard.run(
              key,
              tx -> {
                insert(tx.connection(), "(1, 1, 1)");
                return 2;
              });
      assertThat(again).isEqualTo(new Guarded.Ran<>(2));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"(2, 2, 1)", "(2, 1, 91)", "(2, 1, 93)"})
  void whatTheCommitRefusesIsTheFailureOfAnInlineHandlerAndOthersRun(String row) {
    AtomicInteger runs = new AtomicInteger();
    try (TestDatabase database = database()) {
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(20)))
              .channel(
                  Channel.named("c")
                      .inline()
                      .on(String.class)
                      .handleInTransaction(
                          "refused",
                          (text, tx) -> {
                            runs.incrementAndGet();
                            insert(tx.connection(), text);
                          })
                      .handleInTransaction(
                          "behind", (text, tx) -> insert(tx.connection(), "(9, 1, 1)"))
                      .build())
              .build();

      assertThat(inbox.accept("c", Message.of("m-1", row)))
          .isInstanceOfSatisfying(
              Acceptance.Unfinished.class,
              unfinished -> assertThat(unfinished.failures()).containsOnlyKeys("refused"));
      assertThat(runs).hasValue(1);
      assertThat(database.count("SELECT count(*) FROM effect WHERE id = 9")).isEqualTo(1);
    }
  }

  private static void handle(String row, HandlerTransaction<String> transaction)
      throws SQLException {
    insert(transaction.connection(), row);
  }

  private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
    @Nullable T next = queue.poll(300, TimeUnit.SECONDS);
    assertThat(next).isNotNull();
    return next;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "violates foreign key constraint | (2, 2, 1)",
        "ours | (2, 1, 91)",
        "nobody | (2, 1, 92)",
        "no_such_function | (2, 1, 93)"
      })
  void whatTheCommitRefusesIsCountedAndPoisonedAndItsNeighboursComplete(String why, String row)
      throws Exception {
    try (TestDatabase database = database()) {
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(20)))
              .listener(
                  InboxListener.create().onPoisoned(poisoned::add).onCompleted(completed::add))
              .channel(
                  Channel.named("c")
                      .on(String.class)
                      .handleInTransaction(
                          "h",
                          RefusedCommitTest::handle,
                          sharedCommits(10),
                          retrying(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(3)))
                      .build())
              .build();
      inbox.accept(
          "c",
          List.of(
              Message.of("before", "(1, 1, 1)"),
              Message.of("refused", row),
              Message.of("behind", "(3, 1, 1)")));
      try (RunningInbox running = inbox.start()) {
        InboxEvent.Poisoned event = next(poisoned);
        assertThat(event.message().id()).isEqualTo("refused");
        assertThat(event.attempt()).isEqualTo(3);
        assertThat(event.failure().message()).contains(why);
        assertThat(List.of(next(completed).message().id(), next(completed).message().id()))
            .containsExactlyInAnyOrder("before", "behind");
        Eventually.until(Duration.ofMinutes(3), running::healthy);
      }
      assertThat(database.count("SELECT count(*) FROM effect")).isEqualTo(2);
    }
  }
}
