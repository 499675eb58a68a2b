package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TestDatabasesTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void everyKindTakesTheSameHelpers(TestDatabase database) throws Exception {
    database.execute("CREATE TABLE item (id int, name varchar(10))");
    database.execute("INSERT INTO item VALUES (?, ?)", 7, "pin");

    assertThat(database.count("SELECT count(*) FROM item WHERE id = ?", 7)).isOne();
    assertThat(database.rows("SELECT id, name FROM item"))
        .containsExactly(Map.of("id", 7, "name", "pin"));
    try (Connection pooled = database.pool(2).getConnection()) {
      assertThat(pooled.isValid(1)).isTrue();
    }
    TestDatabase attached =
        TestDatabase.attach(database.jdbcUrl(), database.user(), database.password());
    assertThat(attached.kind()).isEqualTo(database.kind());
    assertThat(attached.count("SELECT count(*) FROM item")).isOne();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void serversHaveAPort(TestDatabase database) {
    assertThat(database.jdbcUrl()).contains("127.0.0.1:");
  }

  @Test
  void fileOfH2FlushesAtEveryCommit() {
    try (TestDatabase database = H2Database.file()) {
      assertThat(
              database.rows(
                  "SELECT DISTINCT setting_value FROM information_schema.settings"
                      + " WHERE setting_name = 'WRITE_DELAY'"))
          .containsExactly(Map.of("setting_value", "0"));
    }
  }

  @Test
  void memoryOfH2IsGoneAfterClose() {
    TestDatabase database = H2Database.memory();
    database.execute("CREATE TABLE item (id int)");
    database.close();

    assertThatThrownBy(() -> database.count("SELECT count(*) FROM item"))
        .isInstanceOf(IllegalStateException.class);
  }
}
