package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.jdbc.internal.TableShape.Column;
import dev.pigeonhole.jdbc.internal.TableShape.Key;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is read from the scripts is what they make, no less and no more. */
class BlueprintTest {

  @ParameterizedTest
  @ValueSource(strings = {"postgresql", "mariadb", "h2"})
  void everyTableIsSeenWithColumnsAndAKey(String dialect) {
    Map<String, TableShape> tables = Blueprint.of(Dialect.named(dialect));

    assertThat(tables.keySet()).containsExactlyInAnyOrderElementsOf(Tables.ALL);
    assertThat(Blueprint.sequences(Dialect.named(dialect)))
        .containsOnlyKeys(Tables.SEQUENCES)
        .containsEntry("message_seq", 1000L);
    assertThat(tables.values())
        .allSatisfy(
            table -> {
              assertThat(table.columns()).isNotEmpty();
              assertThat(table.keys()).anyMatch(Key::unique);
              assertThat(table.columns().values())
                  .extracting(column -> column.type().kind())
                  .doesNotContain(ColumnType.Kind.OTHER);
            });
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aFreshSchemaHasExactlyTheColumnsAndIndexesOfTheScripts(TestDatabase database)
      throws SQLException {
    Schema.migrate(database.dataSource());
    try (Connection connection = database.dataSource().getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      Tables names = new Tables(dialect.quote(), dialect.currentSchema(connection), "pigeonhole_");
      Session session =
          new Session(connection, dialect, names, null, true, false, Session.LockWait.NORMAL);
      Map<String, TableShape> scripted = Blueprint.of(dialect);
      Map<String, TableShape> made =
          Catalogue.read(session, scripted.keySet().stream().map(names::plain).toList());

      assertThat(made).hasSameSizeAs(scripted);
      scripted.forEach(
          (name, table) -> {
            TableShape real = made.get(names.plain(name));
            assertThat(columns(real)).as("columns of %s", name).isEqualTo(columns(table));
            table
                .columns()
                .forEach(
                    (column, is) ->
                        assertThat(real.columns().get(column).type().holds(is.type()))
                            .as("%s of %s", column, name)
                            .isTrue());
            assertThat(keys(real)).as("keys of %s", name).isEqualTo(keys(table));
          });
    }
  }

  private static TreeSet<String> columns(TableShape table) {
    TreeSet<String> lines = new TreeSet<>();
    for (Column column : table.columns().values()) {
      lines.add(
          "%s %s %s %s %s %s"
              .formatted(
                  column.name(),
                  column.type().kind(),
                  column.collation(),
                  column.nullable(),
                  column.initial(),
                  column.filled()));
    }
    return lines;
  }

  private static List<String> keys(TableShape table) {
    return table.keys().stream()
        .map(key -> "%s %s %s".formatted(key.unique(), key.columns(), key.condition()))
        .sorted()
        .toList();
  }
}
