package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PreparedDatabaseTest {
  private static final String SERVERS = "H2";

  private final String tables = UUID.randomUUID().toString();
  private final List<TestDatabase> preparations = new ArrayList<>();

  private TestDatabase prepared(DatabaseKind kind) {
    return TestDatabases.open(kind).prepare(tables, this::makeTables);
  }

  private void makeTables(TestDatabase database) {
    preparations.add(database);
    database.execute("CREATE TABLE item (id int PRIMARY KEY, name varchar(10))");
    database.execute("CREATE TABLE history (version int)");
    database.execute("INSERT INTO history VALUES (1)");
    database.execute("CREATE SEQUENCE item_seq START WITH 1");
  }

  @ParameterizedTest
  @EnumSource(names = SERVERS, mode = EnumSource.Mode.EXCLUDE)
  void theNextTestGetsTheSameTablesEmptied(DatabaseKind kind) {
    String schema;
    try (TestDatabase first = prepared(kind)) {
      schema = first.schema();
      first.execute("INSERT INTO item VALUES (1, 'pin')");
      assertThat(next(first)).isOne();
    }
    try (TestDatabase second = prepared(kind)) {
      assertThat(second.schema()).isEqualTo(schema);
      assertThat(second.count("SELECT count(*) FROM item")).isZero();
      assertThat(second.count("SELECT count(*) FROM history")).isOne();
      assertThat(next(second)).isOne();
    }
    assertThat(preparations).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource(names = SERVERS, mode = EnumSource.Mode.EXCLUDE)
  void twoTestsAtOnceHaveSchemasOfTheirOwn(DatabaseKind kind) {
    try (TestDatabase first = prepared(kind);
        TestDatabase second = prepared(kind)) {
      assertThat(second.schema()).isNotEqualTo(first.schema());
      first.close(); // as JUnit does with arguments that a test has closed
      first.close();
      try (TestDatabase third = prepared(kind);
          TestDatabase fourth = prepared(kind)) {
        assertThat(third.schema()).isEqualTo(first.schema());
        assertThat(fourth.schema()).isNotIn(first.schema(), second.schema());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = SERVERS, mode = EnumSource.Mode.EXCLUDE)
  void aClosedOneIsUsedNoMore(DatabaseKind kind) {
    TestDatabase first = prepared(kind);
    first.close();

    assertThatIllegalStateException().isThrownBy(first::dataSource);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ALTER TABLE item ADD COLUMN note varchar(9)",
        "ALTER TABLE item ALTER COLUMN name SET DEFAULT 'x'",
        "ALTER TABLE item DROP COLUMN name",
        "CREATE INDEX item_name ON item (name)",
        "CREATE TABLE other (id int)",
        "CREATE VIEW items AS SELECT * FROM item",
        "DROP TABLE item",
        "UPDATE history SET version = 2",
        "DROP SEQUENCE item_seq"
      })
  void changedTablesAreDropped(String change) {
    for (DatabaseKind kind : List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB)) {
      assertDroppedAfter(kind, change);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE item ADD CONSTRAINT positive CHECK (id > 0)",
        "ALTER TABLE item SET (fillfactor = 50)",
        "GRANT SELECT ON item TO PUBLIC",
        "CREATE RULE nothing AS ON DELETE TO item DO INSTEAD NOTHING"
      })
  void whatElseChangesTablesOfPostgres(String change) {
    assertDroppedAfter(DatabaseKind.POSTGRES, change);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CREATE PROCEDURE one() SELECT 1",
        "CREATE TRIGGER nothing BEFORE INSERT ON item FOR EACH ROW SET @x = 1",
        "ALTER TABLE item ENGINE = Aria",
        "ALTER TABLE item MODIFY name varchar(20)"
      })
  void whatElseChangesTablesOfMariaDb(String change) {
    assertDroppedAfter(DatabaseKind.MARIADB, change);
  }

  private void assertDroppedAfter(DatabaseKind kind, String change) {
    TestDatabase first = prepared(kind);
    first.execute(change);
    first.close();

    assertNextHasAnother(kind, first.schema());
  }

  private void assertNextHasAnother(DatabaseKind kind, String schema) {
    try (TestDatabase second = prepared(kind)) {
      assertThat(second.schema()).isNotEqualTo(schema);
    }
  }

  @ParameterizedTest
  @EnumSource(names = SERVERS, mode = EnumSource.Mode.EXCLUDE)
  void anOpenSessionGetsTheSchemaDropped(DatabaseKind kind) throws Exception {
    TestDatabase first = prepared(kind);
    Connection left = first.dataSource().getConnection();
    try (left) {
      first.close();
      assertNextHasAnother(kind, first.schema());
    }
    assertThatThrownBy(
            () ->
                TestDatabase.attach(first.jdbcUrl(), first.user(), first.password())
                    .count("SELECT count(*) FROM item"))
        .isInstanceOf(IllegalStateException.class);
  }

  @ParameterizedTest
  @EnumSource(names = SERVERS, mode = EnumSource.Mode.EXCLUDE)
  void oneThatWasUsedBeforeIsPreparedForItselfAlone(DatabaseKind kind) {
    TestDatabase first = TestDatabases.open(kind);
    first.count("SELECT 1");
    first.prepare(tables, this::makeTables).close();

    assertNextHasAnother(kind, first.schema());
  }

  private static long next(TestDatabase database) {
    return database.count(
        database.kind() == DatabaseKind.MARIADB
            ? "SELECT NEXTVAL(item_seq)"
            : "SELECT nextval('item_seq')");
  }
}
