package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Errors are told apart by their codes; their texts are in any language. */
class FaultTest {
  private static final Tables TABLES = new Tables('"', "shop", "inbox_");

  @ParameterizedTest
  @CsvSource({
    "40001, DEADLOCK",
    "40P01, DEADLOCK",
    "55P03, LOCK_TIMEOUT",
    "08006, LOST",
    "57P01, LOST",
    "25P03, LOST",
    "25P04, LOST",
    "53100, BUSY",
    "53300, BUSY",
    "57014, CANCELLED",
    "25006, BUSY",
    "22001, DATA",
    "22021, DATA",
    "54000, DATA",
    "23502, DATA",
    "23514, DATA",
    "P0001, DATA",
    "23505, DUPLICATE",
    "42501, FORBIDDEN",
    "42601, OTHER"
  })
  void postgres(String state, Fault fault) {
    assertThat(new PostgresDialect().fault(new SQLException("irgendwas", state))).isEqualTo(fault);
  }

  @ParameterizedTest
  @CsvSource({
    "1213, 40001, DEADLOCK",
    "1020, HY000, DEADLOCK",
    "1205, HY000, LOCK_TIMEOUT",
    "1040, 08004, BUSY",
    "1114, HY000, BUSY",
    "1290, HY000, BUSY",
    "1317, 70100, CANCELLED",
    "1969, 70100, CANCELLED",
    "2013, 08S01, LOST",
    "0, 08000, LOST",
    "1153, 08S01, TOO_LARGE",
    "0, HZ000, TOO_LARGE",
    "1364, HY000, DATA",
    "1406, 22001, DATA",
    "1644, 45000, DATA",
    "4025, 23000, DATA",
    "1062, 23000, DUPLICATE",
    "1142, 42000, FORBIDDEN",
    "1064, 42000, OTHER"
  })
  void mariaDb(int code, String state, Fault fault) {
    assertThat(new MariaDbDialect().fault(new SQLException("irgendwas", state, code)))
        .isEqualTo(fault);
  }

  @ParameterizedTest
  @CsvSource({
    "50200, LOCK_TIMEOUT",
    "40001, DEADLOCK",
    "90131, DEADLOCK",
    "90067, LOST",
    "90098, LOST",
    "90121, LOST",
    "90020, BUSY",
    "57014, CANCELLED",
    "22001, DATA",
    "23502, DATA",
    "23513, DATA",
    "23505, DUPLICATE",
    "42000, OTHER"
  })
  void h2(int code, Fault fault) {
    assertThat(new H2Dialect().fault(new SQLException("irgendwas", "HY000", code)))
        .isEqualTo(fault);
  }

  @Test
  void whatTheStoreItselfGivesUpIsDoneAgainOnEveryDatabase() {
    SQLException ours = new SQLException("An operator was faster", "40001");
    for (Dialect dialect : List.of(new PostgresDialect(), new MariaDbDialect(), new H2Dialect())) {
      assertThat(dialect.fault(ours)).as(dialect.name()).isEqualTo(Fault.DEADLOCK);
    }
  }

  @Test
  void whatADriverWrapsIsLookedInto() {
    SQLException cause = new SQLException("x", "40P01");
    BatchUpdateException batch = new BatchUpdateException(new int[0], cause);
    batch.setNextException(cause);
    assertThat(new PostgresDialect().fault(batch)).isEqualTo(Fault.DEADLOCK);
    assertThat(new PostgresDialect().fault(new SQLTransientConnectionException("no connection")))
        .isEqualTo(Fault.LOST);
  }

  @Test
  void whatWillFailAgainIsPermanent() {
    PostgresDialect dialect = new PostgresDialect();
    StoreException wrong = Errors.of(dialect, TABLES, new SQLException("x", "42601"), true);
    assertThat(wrong.kind()).isEqualTo(Kind.PERMANENT);
    assertThat(wrong.code()).isEqualTo(ErrorCode.DATABASE_ERROR);
    StoreException forbidden = Errors.of(dialect, TABLES, new SQLException("x", "42501"), true);
    assertThat(forbidden.kind()).isEqualTo(Kind.PERMANENT);
    assertThat(forbidden.code()).isEqualTo(ErrorCode.DATABASE_PRIVILEGE);
    assertThat(forbidden)
        .hasMessageContaining(
            "Schema.ofDefaults().schema(\"shop\").prefix(\"inbox_\").grants(\"postgresql\", role)");
  }

  @Test
  void aSchemaThatCouldNotBeNamedIsLeftToTheConnection() {
    assertThat(new Tables('"', "my-shop", "pigeonhole_").inJava()).isEqualTo("Schema.ofDefaults()");
    assertThat(new Tables('"', null, "inbox_").inJava())
        .isEqualTo("Schema.ofDefaults().prefix(\"inbox_\")");
  }

  @Test
  void aLostConnectionLeavesDoubtOnlyWhereSomethingCommits() {
    PostgresDialect dialect = new PostgresDialect();
    SQLException lost = new SQLException("x", "08006");
    assertThat(Errors.of(dialect, TABLES, lost, false).kind()).isEqualTo(Kind.TRANSIENT);
    assertThat(Errors.of(dialect, TABLES, lost, true).kind()).isEqualTo(Kind.UNKNOWN);
    assertThat(Errors.ofCommit(dialect, TABLES, lost).kind()).isEqualTo(Kind.UNKNOWN);
    StoreException victim = Errors.ofCommit(dialect, TABLES, new SQLException("x", "40001"));
    assertThat(victim.kind()).isEqualTo(Kind.TRANSIENT);
    assertThat(victim.deadlock()).isTrue();
    assertThat(Errors.unreachable(new SQLException("x", "90020", 90020)).code())
        .isEqualTo(ErrorCode.DATABASE_LOCKED);
  }

  @ParameterizedTest
  @ValueSource(strings = {"U0001", "42501", "42883", "0A000", "23503", "P0001", "25P02", "55P03"})
  void whatPostgresRefusesAtCommitWasNotDone(String state) {
    SQLException refused = new SQLException("x", state);
    assertThat(Errors.ofCommit(new PostgresDialect(), TABLES, refused).kind())
        .isNotEqualTo(Kind.UNKNOWN);
    assertThat(Errors.ofLastStatement(new PostgresDialect(), TABLES, refused).kind())
        .isNotEqualTo(Kind.UNKNOWN);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"08006", "08P01", "25P01", "25P03", "40003", "53100", "57P01", "58030", "XX000"})
  void whatElseIsSaidOfACommitLeavesDoubt(String state) {
    for (SQLException said : List.of(new SQLException("x", state), new SQLException("x"))) {
      assertThat(Errors.ofCommit(new PostgresDialect(), TABLES, said).kind())
          .isEqualTo(Kind.UNKNOWN);
      assertThat(Errors.ofLastStatement(new PostgresDialect(), TABLES, said).kind())
          .isEqualTo(Kind.UNKNOWN);
    }
  }
}
