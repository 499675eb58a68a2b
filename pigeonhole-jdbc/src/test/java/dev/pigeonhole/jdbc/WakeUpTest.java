package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** Nodes that wake each other. */
class WakeUpTest {
  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final Duration NEVER = Duration.ofHours(1);

  private final Set<String> handled = ConcurrentHashMap.newKeySet();
  private TestDatabase database;

  @BeforeEach
  void makeTables() {
    database = TestDatabases.open(DatabaseKind.POSTGRES);
    InboxTables.in(database);
  }

  @AfterEach
  void drop() {
    database.close();
  }

  private Inbox inbox(JdbcStore store, Duration polling) {
    return Inbox.on(store)
        .channel(Channel.named("texts").on(String.class).handle("h", handled::add).build())
        .polling(polling, polling)
        .build();
  }

  /** One that only accepts: it never runs. */
  private Inbox sender() {
    return inbox(JdbcStore.of(database.pool(6)).notifying(), NEVER);
  }

  private static String channel(TestDatabase database) {
    return database.schema() + ".pigeonhole_";
  }

  private String listening() {
    return "FROM pg_stat_activity WHERE query = 'LISTEN \"%s\"'".formatted(channel(database));
  }

  private void awaitListener() {
    Eventually.until(
        "a node to listen", LIMIT, () -> database.count("SELECT count(*) " + listening()) == 1);
  }

  private void awaitHandled(String text) {
    Eventually.until(text + " to be handled", LIMIT, () -> handled.contains(text));
  }

  /** The words on a channel, up to one that this test has sent behind them. */
  private static final class Ear implements AutoCloseable {
    private final TestDatabase database;
    private final String channel;
    private final Connection connection;

    Ear(TestDatabase database, String channel) throws SQLException {
      this.database = database;
      this.channel = channel;
      this.connection = database.dataSource().getConnection();
      try (Statement listen = connection.createStatement()) {
        listen.execute("LISTEN \"" + channel + "\"");
      }
    }

    /** How many words have come before now. */
    int words() throws SQLException {
      database.count("SELECT 1 FROM pg_notify(?, 'the end')", channel);
      int words = 0;
      while (true) {
        for (PGNotification each : next()) {
          if (each.getParameter().equals("the end")) {
            return words;
          }
          assertThat(each.getParameter()).isEmpty();
          words++;
        }
      }
    }

    /** Waits for at least one word. */
    PGNotification[] next() throws SQLException {
      PGNotification[] found =
          connection.unwrap(PGConnection.class).getNotifications((int) LIMIT.toMillis());
      assertThat(found).as("words on " + channel).isNotNull().isNotEmpty();
      return found;
    }

    @Override
    public void close() throws SQLException {
      connection.close();
    }
  }

  @Test
  void pg05_anAcceptOnOneNodeWakesAnotherThatHardlyPolls() {
    Inbox sender = sender();
    Inbox other = inbox(JdbcStore.of(database.pool(8)).notifying(), NEVER);
    try (RunningInbox running = other.start()) {
      awaitListener();
      for (int i = 0; i < 5; i++) {
        sender.accept("texts", Message.of("m" + i, "m" + i));
        awaitHandled("m" + i);
      }
      sender.accept("texts", Message.of("urgent", "urgent").priority(9));
      awaitHandled("urgent");
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    // A session ends a moment after its client has said goodbye.
    Eventually.until(
        "nobody to listen", LIMIT, () -> database.count("SELECT count(*) " + listening()) == 0);
  }

  @Test
  void theLastMessageOfAFloodIsToldToo() {
    Inbox sender = sender();
    Inbox other = inbox(JdbcStore.of(database.pool(8)).notifying(), NEVER);
    try (RunningInbox running = other.start()) {
      awaitListener();
      for (int i = 0; i < 200; i++) {
        sender.accept("texts", Message.of("m" + i, "m" + i));
      }
      Eventually.until("all to be handled", LIMIT, () -> handled.size() == 200);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  @Test
  void pg04_aFloodOfAcceptsBecomesTenWordsASecond() throws SQLException {
    Inbox sender = sender();
    try (Ear ear = new Ear(database, channel(database))) {
      long began = System.nanoTime();
      for (int i = 0; i < 500; i++) {
        sender.accept("texts", Message.of("m" + i, "m" + i));
      }
      ear.next();
      int more = ear.words();
      long tenths = (System.nanoTime() - began) / Duration.ofMillis(100).toNanos();
      // However long it took: one at once, and one for each tenth of a second that has passed.
      assertThat((long) more).isLessThanOrEqualTo(tenths + 1);
      assertThat(more).isLessThan(500);
    }
  }

  @Test
  void pg04_noWordIsSentInATransactionOfAnAccept() throws SQLException {
    Inbox sender = sender();
    DataSource mine = database.dataSource();
    try (Ear ear = new Ear(database, channel(database));
        Connection connection = mine.getConnection()) {
      connection.setAutoCommit(false);
      sender.accept(connection, "texts", Message.of("m", "m"));
      connection.commit();
      assertThat(ear.words()).isZero();

      sender.wake();
      assertThat(ear.next()).hasSize(1);
    }
  }

  @Test
  void pg05_twoSchemasAndTwoPrefixesDoNotWakeEachOther() throws SQLException {
    Schema.ofDefaults().prefix("other_").applyTo(database.dataSource());
    Inbox sender = sender();
    try (TestDatabase elsewhere = TestDatabases.open(DatabaseKind.POSTGRES);
        Ear here = new Ear(database, channel(database));
        Ear otherPrefix = new Ear(database, database.schema() + ".other_");
        Ear otherSchema = new Ear(elsewhere, channel(elsewhere))) {
      sender.accept("texts", Message.of("m", "m"));
      here.next();
      assertThat(otherPrefix.words()).isZero();
      assertThat(otherSchema.words()).isZero();

      inbox(JdbcStore.of(database.pool(6)).prefix("other_").notifying(), NEVER)
          .accept("texts", Message.of("m", "m"));
      otherPrefix.next();
      assertThat(here.words()).isZero();
    }
  }

  @Test
  void pg05_aListenerThatIsCutOffListensAgain() {
    Inbox sender = sender();
    Inbox other = inbox(JdbcStore.of(database.pool(8)).notifying(), NEVER);
    try (RunningInbox running = other.start()) {
      awaitListener();
      long first = database.count("SELECT pid " + listening());
      assertThat(database.count("SELECT count(pg_terminate_backend(pid)) " + listening()))
          .isEqualTo(1);
      Eventually.until(
          "another connection to listen",
          LIMIT,
          () -> database.count("SELECT count(*) " + listening() + " AND pid <> " + first) == 1);
      sender.accept("texts", Message.of("m", "m"));
      awaitHandled("m");
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  @Test
  void pg05_whileNobodyCanListenPollingGoesOn() throws Exception {
    Inbox sender = sender();
    Inbox other = inbox(JdbcStore.of(database.pool(8)).notifying(), Duration.ofMillis(20));
    AtomicBoolean cutting = new AtomicBoolean(true);
    AtomicInteger cut = new AtomicInteger();
    Thread cutter =
        new Thread(
            () -> {
              while (cutting.get()) {
                cut.addAndGet(
                    (int) database.count("SELECT count(pg_terminate_backend(pid)) " + listening()));
              }
            });
    cutter.start();
    try (RunningInbox running = other.start()) {
      List<String> texts = new ArrayList<>();
      for (int i = 0; cut.get() < 3 || i < 50; i++) {
        texts.add("m" + i);
        sender.accept("texts", Message.of("m" + i, "m" + i));
        awaitHandled("m" + i);
      }
      assertThat(handled).containsExactlyInAnyOrderElementsOf(texts);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    } finally {
      cutting.set(false);
      cutter.join();
    }
  }

  @Test
  void withoutTheOptionNobodyListensOrTells() throws SQLException {
    Inbox plain = inbox(JdbcStore.of(database.pool(8)), Duration.ofMillis(20));
    try (Ear ear = new Ear(database, channel(database));
        RunningInbox running = plain.start()) {
      plain.accept("texts", Message.of("m", "m"));
      awaitHandled("m");
      assertThat(ear.words()).isZero();
      assertThat(database.count("SELECT count(*) " + listening())).isEqualTo(1); // the ear
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  @Test
  void theConnectionThatListensIsCounted() {
    StoreSettings settings = new StoreSettings("shop", 4, 4, 1 << 20);
    JdbcStore.of(database.pool(5)).maintenance().open(settings);

    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> JdbcStore.of(database.pool(5)).notifying().maintenance().open(settings))
        .satisfies(
            refused -> {
              assertThat(refused.problems())
                  .extracting(it -> it.code())
                  .containsExactly(ErrorCode.POOL_TOO_SMALL);
              assertThat(refused).hasMessageContaining("1 (to hear of other nodes)");
            });
    JdbcStore.of(database.pool(6)).notifying().maintenance().open(settings);
  }

  @ParameterizedTest
  @EnumSource(
      value = DatabaseKind.class,
      names = {"MARIADB", "H2"})
  void anotherDatabaseRefusesToNotify(DatabaseKind kind) {
    try (TestDatabase other = TestDatabases.open(kind)) {
      Schema.migrate(other.dataSource());
      JdbcStore store = JdbcStore.of(other.pool(8)).notifying();

      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> inbox(store, NEVER))
          .satisfies(
              refused -> {
                assertThat(refused.problems())
                    .extracting(it -> it.code())
                    .containsExactly(ErrorCode.OPTION_NOT_APPLICABLE);
                assertThat(refused).hasMessageContaining("polling");
              });
    }
  }
}
