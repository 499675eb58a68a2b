package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Where no schema is given, the tables are in that of the connection, whatever it is called. */
class CurrentSchemaTest {
  private static final List<String> USABLE =
      List.of("MY_APP", "my app", "My-App", "Größe", "a.b", "$1", "42");

  private static final List<String> REFUSED =
      List.of(
          "o'clock", "say \"hi\"", "tick`s", "100%", "%s", "{now}", ":same", "why?", "back\\slash");

  private static Stream<Arguments> usable() {
    return onAll(USABLE);
  }

  private static Stream<Arguments> refused() {
    return onAll(REFUSED);
  }

  private static Stream<Arguments> onAll(List<String> names) {
    return Stream.of(DatabaseKind.values())
        .flatMap(kind -> names.stream().map(name -> Arguments.of(kind, name)));
  }

  /** A pool whose connections are in a schema of this name. */
  private static HikariDataSource in(TestDatabase database, String schema) {
    HikariConfig config = new HikariConfig();
    config.setDataSource(database.dataSource());
    config.setMaximumPoolSize(16);
    config.setMinimumIdle(0);
    if (database.kind() == DatabaseKind.MARIADB) {
      config.setCatalog(schema);
    } else {
      config.setSchema(schema);
    }
    return new HikariDataSource(config);
  }

  private static String quoted(DatabaseKind kind, String schema) {
    char quote = kind == DatabaseKind.MARIADB ? '`' : '"';
    return quote + schema.replace("" + quote, "" + quote + quote) + quote;
  }

  private interface Check {
    void run(HikariDataSource pool);
  }

  private static void withSchema(DatabaseKind kind, String name, Check check) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      database.execute("CREATE SCHEMA " + quoted(kind, name));
      try (HikariDataSource pool = in(database, name)) {
        check.run(pool);
      } finally {
        String cascade = kind == DatabaseKind.MARIADB ? "" : " CASCADE";
        database.execute("DROP SCHEMA " + quoted(kind, name) + cascade);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("usable")
  void everythingWorksInASchemaOfThisName(DatabaseKind kind, String name) {
    withSchema(kind, name, CurrentSchemaTest::assertWorks);
  }

  private static void assertWorks(HikariDataSource pool) {
    Schema.migrate(pool);
    JdbcStore store = JdbcStore.of(pool);
    List<String> handled = new CopyOnWriteArrayList<>();
    Inbox inbox =
        Inbox.on(store)
            .channel(
                Channel.named("c")
                    .on(String.class)
                    .handle("plain", handled::add)
                    .handleInTransaction("tx", (text, tx) -> handled.add("tx " + text))
                    .build())
            .keepReceipts(Duration.ofDays(1))
            .build();
    for (int copy = 0; copy < 2; copy++) {
      assertThat(inbox.accept("c", Message.of("m-1", "hello").orderedBy("key")))
          .isInstanceOf(copy == 0 ? Acceptance.Accepted.class : Acceptance.Repeat.class);
      inbox.accept("c", List.of(Message.of("m-2", "a").priority(5), Message.of("m-3", "b")));
    }
    inbox.drain();
    assertThat(handled).hasSize(6);
    try (Guard guard = Guard.on(store).keepReceiptsForEver().build()) {
      GuardKey key = GuardKey.ofMessage("guarded", "c", "m-1");
      assertThat(guard.run(key, tx -> 1)).isInstanceOf(Guarded.Ran.class);
      assertThat(guard.run(key, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
    }
    assertThat(inbox.admin().counts()).isNotEmpty();
  }

  @ParameterizedTest
  @MethodSource("refused")
  void ph_cfg_06_aSchemaNameWithSpecialCharactersIsRejected(DatabaseKind kind, String name) {
    withSchema(
        kind,
        name,
        pool -> {
          assertRefused(name, () -> Schema.migrate(pool));
          assertRefused(name, () -> Guard.on(JdbcStore.of(pool)).keepReceiptsForEver().build());
          assertRefused(name, () -> Schema.ofDefaults().relaneOn(pool, 8));
        });
  }

  private static void assertRefused(String name, Runnable use) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(use::run)
        .withMessageContaining(name)
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.IDENTIFIER_INVALID));
  }
}
