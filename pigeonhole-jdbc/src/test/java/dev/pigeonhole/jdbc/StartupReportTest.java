package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** One report names all that is wrong, and every setting that loses commits or confuses ids. */
class StartupReportTest {

  private static List<Problem> problems(DataSource dataSource) {
    try {
      JdbcStore.of(dataSource).maintenance().open(Rig.SETTINGS);
      return List.of();
    } catch (ConfigurationException e) {
      return e.problems();
    }
  }

  @Test
  void problemsOfAllKindsComeInOneReport() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      database.execute("DROP INDEX pigeonhole_later_due");
      TestDatabase careless = database.with("options", "-c%20synchronous_commit=off");

      assertThatExceptionOfType(ConfigurationException.class)
          .isThrownBy(() -> JdbcStore.of(careless.pool(2)).maintenance().open(Rig.SETTINGS))
          .satisfies(
              e -> {
                assertThat(e.problems())
                    .extracting(Problem::code)
                    .containsExactlyInAnyOrder(
                        ErrorCode.POOL_TOO_SMALL,
                        ErrorCode.DATABASE_NOT_DURABLE,
                        ErrorCode.SCHEMA_INDEX);
                assertThat(e)
                    .hasMessageContaining("The pool has 2 connections")
                    .hasMessageContaining("synchronous_commit is off")
                    .hasMessageContaining("pigeonhole_later_due");
              });
    }
  }

  @ParameterizedTest
  @CsvSource({
    "fsync, off, DATABASE_NOT_DURABLE, fsync is off",
    "full_page_writes, off, DATABASE_NOT_DURABLE, full_page_writes is off",
    "synchronous_commit, off, DATABASE_NOT_DURABLE, synchronous_commit is off",
    "server_encoding, LATIN1, SCHEMA_COLLATION, encoded as latin1"
  })
  void aPostgresThatLosesCommitsOrIdsIsRefused(
      String setting, String value, ErrorCode code, String words) {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      // Nobody sets these for one connection, so the answer is changed and not the server.
      DataSource pretending =
          Pretending.rewriting(
              database.dataSource(), "current_setting('" + setting + "')", "'" + value + "'");
      assertThat(problems(pretending))
          .singleElement()
          .satisfies(
              problem -> {
                assertThat(problem.code()).isEqualTo(code);
                assertThat(problem.text()).contains(words);
              });
    }
  }

  @Test
  void anH2ThatComparesTextByACollationIsRefused() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      database.execute("SET COLLATION ENGLISH STRENGTH PRIMARY");
      Schema.migrate(database.dataSource());
      assertThat(problems(database.dataSource()))
          .anySatisfy(
              problem -> {
                assertThat(problem.code()).isEqualTo(ErrorCode.SCHEMA_COLLATION);
                assertThat(problem.text()).containsIgnoringCase("collation ENGLISH");
              });
    }
  }

  @ParameterizedTest
  @CsvSource({"POSTGRES", "MARIADB"})
  void d86_aLoginThatIsRefusedIsReportedWithTheUserAndWithoutThePassword(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      String user = "stranger_" + database.schema();
      DataSource wrong =
          TestDatabase.attach(database.jdbcUrl(), user, "s3cret-hunter2").dataSource();
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> problems(wrong))
          .satisfies(
              e -> {
                assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_UNREACHABLE);
                assertThat(e.getMessage()).contains(user);
                for (Throwable each = e; each != null; each = each.getCause()) {
                  assertThat(each.toString()).doesNotContain("hunter2");
                }
              });
    }
  }
}
