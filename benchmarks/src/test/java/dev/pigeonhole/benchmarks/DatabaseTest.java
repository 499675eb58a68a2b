package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.support.PostgresServer;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that was there before. */
class DatabaseTest {

  private final PostgresServer server = PostgresServer.shared();
  @TempDir private Path directory;

  private Database open() throws Exception {
    return Database.open(
        Options.parse("--url", server.jdbcUrl() + "?user=" + server.user()), directory);
  }

  @Test
  void tablesOfAnInboxAnywhereInItAreRefused() throws Exception {
    try (TestDatabase somebodys = server.emptySchema()) {
      somebodys.execute("CREATE TABLE pigeonhole_message (seq bigint)");
      assertThatThrownBy(this::open)
          .isInstanceOf(UsageException.class)
          .hasMessageContaining(somebodys.schema() + ".pigeonhole_message");
    }
    try (TestDatabase others = server.emptySchema()) {
      others.execute("CREATE TABLE pigeonholes (seq bigint)");
      open().close();
    }
  }

  @Test
  void whereNobodyAnswersThereIsNoDatabase() throws Exception {
    Options options = Options.parse("--url", "jdbc:postgresql://127.0.0.1:1/nobody");
    assertThatThrownBy(() -> Database.open(options, directory))
        .isInstanceOf(NoDatabaseException.class)
        .hasMessageContaining("jdbc:postgresql://127.0.0.1:1/nobody");
  }

  @Test
  void everyRunHasAPlaceOfItsOwnThatGoesWithIt() throws Exception {
    try (Database database = open()) {
      assertThat(database.settings()).containsEntry("fsync", "on");
      Map<String, String> first;
      try (Database.Place place = database.newPlace()) {
        first = place.toValues();
        assertThat(ask(first, "SELECT current_schema()")).isEqualTo(first.get("schema"));
      }
      assertThat(ask(first, "SELECT current_schema()")).isNull();
      try (Database.Place place = database.newPlace()) {
        assertThat(place.toValues().get("schema")).isNotEqualTo(first.get("schema"));
      }
    }
  }

  @Test
  void whatAKilledRunHasLeftIsRemovedOrNamed() throws Exception {
    Database database = open();
    Map<String, String> place = database.newPlace().toValues();
    assertThat(ask(place, "SELECT current_schema()")).isEqualTo(place.get("schema"));
    database.abandon();
    assertThat(ask(place, "SELECT current_schema()")).isNull();

    try (Database.Place left = database.newPlace()) {
      String schema = left.toValues().get("schema");
      try (TestDatabase any = server.emptySchema()) {
        any.execute("CREATE TABLE " + schema + ".pigeonhole_message (seq bigint)");
      }
      assertThatThrownBy(this::open)
          .isInstanceOfSatisfying(
              UsageException.class,
              e -> assertThat(e.nearest()).contains("DROP SCHEMA " + schema + " CASCADE"));
    }
  }

  private static String ask(Map<String, String> place, String query) throws Exception {
    try (Connection connection =
            DriverManager.getConnection(
                place.get("url"), place.get("user"), place.get("password"));
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getString(1);
    }
  }
}
