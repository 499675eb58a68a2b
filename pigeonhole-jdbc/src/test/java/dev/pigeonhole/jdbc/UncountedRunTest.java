package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.Proxies;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/**
 * The database disturbs a transactional handler: that is not the handler's failure, but neither may
 * it go on for ever without a trace, and what the handler decides counts all the same.
 */
class UncountedRunTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private final AtomicInteger runs = new AtomicInteger();
  private final BlockingQueue<InboxEvent> told = new LinkedBlockingQueue<>();
  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();

  @AfterEach
  void stopListening() {
    logger.detachAppender(log);
  }

  private static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private Inbox inbox(
      TestDatabase database, RetryPolicy policy, TransactionalHandler<String> handler) {
    return inbox(database, database.pool(20), policy, handler);
  }

  private Inbox inbox(
      TestDatabase database,
      DataSource dataSource,
      RetryPolicy policy,
      TransactionalHandler<String> handler) {
    InboxTables.in(database);
    return Inbox.on(JdbcStore.of(dataSource))
        .listener(told::add)
        .channel(
            Channel.named("c")
                .on(String.class)
                .handleInTransaction(
                    "h",
                    (text, tx) -> {
                      runs.incrementAndGet();
                      handler.handle(text, tx);
                    },
                    HandlerOption.retrying(policy))
                .build())
        .build();
  }

  private static DeliveryView view(Inbox inbox) {
    return inbox.find("c", "m", "h").orElseThrow();
  }

  private static void reaches(Inbox inbox, DeliveryState state) {
    Eventually.passes(LIMIT, () -> assertThat(view(inbox).state()).isEqualTo(state));
  }

  private InboxEvent.Uncounted uncounted() throws InterruptedException {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (System.nanoTime() < deadline) {
      InboxEvent event = told.poll(1, TimeUnit.SECONDS);
      if (event instanceof InboxEvent.Uncounted uncounted) {
        return uncounted;
      }
    }
    throw new AssertionError("no InboxEvent.Uncounted");
  }

  /** A connection that keeps row 1 of the table "taken" while it is open. */
  private static Connection holder(TestDatabase database) throws SQLException {
    database.execute("CREATE TABLE taken (id int PRIMARY KEY)");
    database.execute("INSERT INTO taken VALUES (1)");
    Connection holder = database.dataSource().getConnection();
    holder.setAutoCommit(false);
    run(holder, "SELECT * FROM taken WHERE id = 1 FOR UPDATE");
    return holder;
  }

  private static void lockNoWait(Connection connection) throws SQLException {
    run(connection, "SELECT * FROM taken WHERE id = 1 FOR UPDATE NOWAIT");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aPoisonExceptionAfterALockedRowIsObeyed(TestDatabase database) throws Exception {
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.defaults(),
            (text, tx) -> {
              try {
                lockNoWait(tx.connection());
              } catch (SQLException e) {
                throw new PoisonException("never");
              }
            });
    try (Connection holder = holder(database);
        RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      reaches(inbox, DeliveryState.POISONED);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
      holder.rollback();
    }
    assertThat(runs).hasValue(1);
    assertThat(view(inbox).failures()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aRetryLaterExceptionAfterALockedRowIsObeyed(TestDatabase database) throws Exception {
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.defaults(),
            (text, tx) -> {
              try {
                lockNoWait(tx.connection());
              } catch (SQLException e) {
                throw RetryLaterException.after(Duration.ofHours(1));
              }
            });
    try (Connection holder = holder(database);
        RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      reaches(inbox, DeliveryState.SCHEDULED);
      assertThat(view(inbox).due().orElseThrow())
          .isAfter(Instant.now().plus(Duration.ofMinutes(50)));
      Eventually.until(Duration.ofMinutes(3), running::healthy);
      holder.rollback();
    }
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aPoisonExceptionAfterALostConnectionIsObeyed(TestDatabase database) throws Exception {
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.defaults(),
            (text, tx) -> {
              try {
                Sessions.kill(database, tx.connection());
                run(tx.connection(), "SELECT 1");
              } catch (SQLException e) {
                throw new PoisonException("never");
              }
            });
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      reaches(inbox, DeliveryState.POISONED);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void uncountedRunsBackOffAndAreShownAndCountAfterTheLimit(TestDatabase database)
      throws Exception {
    log.start();
    logger.addAppender(log);
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.fixed(Duration.ofMillis(1)).maxUncounted(2).maxAttempts(2),
            (text, tx) -> lockNoWait(tx.connection()));
    try (Connection holder = holder(database);
        RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      InboxEvent.Uncounted first = uncounted();
      assertThat(first.handler()).isEqualTo("h");
      assertThat(first.message().id()).isEqualTo("m");
      assertThat(first.runs()).isEqualTo(1);
      assertThat(uncounted().runs()).isEqualTo(2);
      reaches(inbox, DeliveryState.POISONED);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
      holder.rollback();
    }
    assertThat(runs).as("2 that do not count and 2 that do").hasValue(4);
    assertThat(view(inbox).releases()).isEqualTo(2);
    assertThat(view(inbox).failures()).isEqualTo(2);
    assertThat(List.copyOf(log.list))
        .filteredOn(event -> event.getLevel() == Level.WARN)
        .extracting(ILoggingEvent::getFormattedMessage)
        .filteredOn(line -> line.startsWith("Attempt uncounted"))
        .hasSize(2)
        .allSatisfy(line -> assertThat(line).contains("c/m", "'h'"));
  }

  private static String receipts(TestDatabase database) {
    return switch (database.kind()) {
      case POSTGRES -> "pigeonhole_receipt";
      case MARIADB -> "`pigeonhole_receipt`";
      case H2 -> "\"pigeonhole_receipt\"";
    };
  }

  /** The column stands for any change of the table that makes the database reject a receipt. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aRejectedReceiptRollsTheHandlerBackAndNeverCounts(TestDatabase database) throws Exception {
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.defaults().maxUncounted(1).maxAttempts(1),
            (text, tx) -> run(tx.connection(), "INSERT INTO effect VALUES (1)"));
    database.execute("CREATE TABLE effect (id int)");
    database.execute("ALTER TABLE " + receipts(database) + " ADD COLUMN extra int NOT NULL");
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      InboxEvent.Uncounted first = uncounted();
      InboxEvent.Uncounted second = uncounted();
      InboxEvent.Uncounted third = uncounted();
      assertThat(first.failure().code()).isEqualTo(ErrorCode.DATABASE_ERROR);
      assertThat(List.of(first.next(), second.next(), third.next())).isSorted();
      assertThat(third.next()).isGreaterThan(first.next());
      assertThat(view(inbox).failures()).isZero();
      assertThat(database.count("SELECT count(*) FROM effect")).isZero();

      database.execute("ALTER TABLE " + receipts(database) + " DROP COLUMN extra");
      reaches(inbox, DeliveryState.COMPLETED);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    assertThat(runs.get()).isGreaterThanOrEqualTo(4);
    assertThat(database.count("SELECT count(*) FROM effect")).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aHandlerWhoseConnectionIsCutEachTimeBacksOff(TestDatabase database) throws Exception {
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.exponential(Duration.ofMinutes(1)),
            (text, tx) -> {
              Sessions.kill(database, tx.connection());
              run(tx.connection(), "SELECT 1");
            });
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      InboxEvent.Uncounted first = uncounted();
      InboxEvent.Uncounted second = uncounted();
      InboxEvent.Uncounted third = uncounted();
      assertThat(List.of(first.next(), second.next(), third.next())).isSorted();
      assertThat(third.next()).isGreaterThan(first.next());
      assertThat(view(inbox).failures()).isZero();
      assertThat(view(inbox).releases()).isGreaterThanOrEqualTo(3);
      assertThat(view(inbox).lastFailure()).as("an operator sees why").isPresent();
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void anAttemptWhoseConnectionWasLostIsRecordedOnceTheServerHasFreedItsRow(TestDatabase database)
      throws Exception {
    LosingConnections losing = new LosingConnections(database.pool(20));
    Inbox inbox =
        inbox(
            database,
            losing.dataSource(),
            RetryPolicy.defaults(),
            (text, tx) -> {
              if (runs.get() == 1) {
                run(tx.connection(), LosingConnections.LOSE);
              }
            });
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      losing.awaitLost();
      TimeUnit.SECONDS.sleep(2); // so long the server does not notice
      assertThat(runs).hasValue(1);
      losing.noticed();
      assertThat(uncounted().runs()).isEqualTo(1);
      reaches(inbox, DeliveryState.COMPLETED);
      Eventually.until(LIMIT, running::healthy);
    }
    assertThat(runs).hasValue(2);
    assertThat(view(inbox).failures()).isZero();
  }

  private static boolean isForAHandler() {
    return StackWalker.getInstance()
        .walk(frames -> frames.anyMatch(each -> each.getClassName().endsWith(".JdbcTransactions")));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void anAttemptThatHadNoConnectionNeverCounts(TestDatabase database) throws Exception {
    AtomicInteger refused = new AtomicInteger();
    DataSource pool = database.pool(20);
    DataSource empty =
        Proxies.proxy(
            DataSource.class,
            (self, method, args) -> {
              if (method.getName().equals("getConnection")
                  && isForAHandler()
                  && refused.incrementAndGet() <= 3) {
                throw new SQLTransientConnectionException("for the test: the pool is empty");
              }
              return Proxies.call(pool, method, args);
            });
    Inbox inbox =
        inbox(
            database,
            empty,
            RetryPolicy.fixed(Duration.ofMillis(1)).maxUncounted(0).maxAttempts(1),
            (text, tx) -> {});
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      assertThat(uncounted().runs()).isEqualTo(1);
      assertThat(uncounted().runs()).isEqualTo(2);
      assertThat(uncounted().runs()).isEqualTo(3);
      reaches(inbox, DeliveryState.COMPLETED);
      Eventually.until(LIMIT, running::healthy);
    }
    assertThat(runs).hasValue(1);
    assertThat(view(inbox).failures()).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aHandlerSlowerThanTheIdleTimeoutIsPoisonedEventually(TestDatabase database)
      throws Exception {
    Inbox inbox =
        inbox(
            database,
            RetryPolicy.fixed(Duration.ofMillis(1)).maxUncounted(1).maxAttempts(2),
            (text, tx) -> Sessions.beSilent(database, tx.connection(), LIMIT));
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "x"));
      assertThat(uncounted().runs()).isEqualTo(1);
      reaches(inbox, DeliveryState.POISONED);
      Eventually.until(LIMIT, running::healthy);
    }
    assertThat(view(inbox).failures()).isEqualTo(2);
    assertThat(runs).hasValueGreaterThanOrEqualTo(3);
  }
}
