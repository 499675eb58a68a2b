package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.internal.Tables;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.tck.DatabaseStoreContract;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.InstantSource;
import java.util.EnumMap;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;

/** The contract of every store, on one schema that is emptied before each test. */
abstract class JdbcStoreContract extends DatabaseStoreContract {

  private record Place(TestDatabase database, DataSource pool) {}

  private static final Map<DatabaseKind, Place> PLACES = new EnumMap<>(DatabaseKind.class);

  private final DatabaseKind kind;

  JdbcStoreContract(DatabaseKind kind) {
    this.kind = kind;
  }

  private Place place() {
    return PLACES.computeIfAbsent(
        kind,
        any -> {
          TestDatabase database = TestDatabases.open(kind);
          Schema.migrate(database.dataSource());
          return new Place(database, database.pool(10));
        });
  }

  @Override
  protected InboxStore store(InstantSource clock) {
    empty();
    return JdbcStore.of(place().pool()).beatsOn(place().database().dataSource()).clock(clock);
  }

  /** On one connection and in one commit: it is done for each of hundreds of tests. */
  private void empty() {
    try (Connection connection = place().pool().getConnection();
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      for (String table : Tables.ALL) {
        if (!table.equals("schema_history")) {
          statement.execute("DELETE FROM " + name(table));
        }
      }
      connection.commit();
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot empty the tables", e);
    }
  }

  private String name(String table) {
    String quote = kind == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + "pigeonhole_" + table + quote;
  }

  @Override
  protected DataSource dataSource() {
    return place().pool();
  }

  /** The place is never closed, which would check the same. */
  @AfterEach
  void noMessageHasTwoRowsForAHandler() {
    assertThat(DuplicateRows.ofHandlerNumbers(place().database())).as("duplicate rows").isEmpty();
  }

  @Override
  protected void plantReceipt(Delivery delivery) {
    place()
        .database()
        .execute(
            "INSERT INTO "
                + name("receipt")
                + " (seq, handler, key_id, completed_at, failures, crashes, releases)"
                + " VALUES (?, ?, ?, CURRENT_TIMESTAMP, 0, 0, 0)",
            delivery.seq(),
            delivery.cell().handler(),
            delivery.keyId());
  }

  @Override
  protected void continueNumbersAfter(long seq) {
    place()
        .database()
        .execute("ALTER SEQUENCE " + name("message_seq") + " RESTART WITH " + (seq + 1));
  }
}
