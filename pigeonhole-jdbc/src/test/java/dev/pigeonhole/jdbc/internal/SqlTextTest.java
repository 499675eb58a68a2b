package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class SqlTextTest {
  private final SqlText postgres = new SqlText(new PostgresDialect());
  private final SqlText mariaDb = new SqlText(new MariaDbDialect());
  private final SqlText h2 = new SqlText(new H2Dialect());

  @Test
  void whatEndsATransactionIsFoundBehindCommentsAndOtherStatements() {
    for (String sql :
        List.of(
            "COMMIT",
            " \n\t commit work",
            "-- note\n rollback",
            "/* a */ /* b */ begin",
            "UPDATE t SET a = 'x'; COMMIT",
            "(COMMIT)",
            "SET autocommit = 0",
            "set session characteristics as transaction read only",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "LOCK TABLES t WRITE",
            "SAVEPOINT x",
            "create temporary table t (id int)",
            "TRUNCATE t",
            "SET a = 1, b = 2, c = 3, d = 4, autocommit = 1",
            "EXECUTE IMMEDIATE 'COMMIT'",
            "PREPARE TRANSACTION 'x'")) {
      assertThat(List.of(postgres, mariaDb, h2))
          .as(sql)
          .allMatch(text -> text.endsTransaction(sql));
    }
  }

  @Test
  void ordinaryStatementsPass() {
    for (String sql :
        List.of(
            "SELECT 1",
            "INSERT INTO commit_log VALUES ('; COMMIT')",
            "UPDATE t SET note = 'it''s; DROP TABLE t' WHERE \"begin\" = 1",
            "/* COMMIT; */ DELETE FROM t",
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
            "SET @x = 1",
            "CALL book(?)",
            "{call book(?)}",
            "")) {
      assertThat(List.of(postgres, mariaDb, h2))
          .as(sql)
          .noneMatch(text -> text.endsTransaction(sql));
    }
  }

  @Test
  void hx05_whatEndsATransactionOnOneDatabaseAloneIsRefusedThere() {
    for (String sql :
        List.of(
            "LOCK TABLE t WRITE",
            "PREPARE p FROM 'COMMIT'",
            "EXECUTE p",
            "SET STATEMENT max_statement_time = 1 FOR COMMIT",
            "SET STATEMENT max_statement_time = 1 FOR CREATE TABLE u (id int)",
            "REPEAT COMMIT; UNTIL TRUE END REPEAT",
            "CHECK TABLE t",
            "CACHE INDEX t IN c",
            "SET PASSWORD = 'x'")) {
      assertThat(mariaDb.endsTransaction(sql)).as(sql).isTrue();
    }
    for (String sql :
        List.of(
            "SET REFERENTIAL_INTEGRITY FALSE",
            "SET MODE MySQL",
            "SET WRITE_DELAY 0",
            "PREPARE p AS SELECT 1",
            "// it's\nCOMMIT")) {
      assertThat(h2.endsTransaction(sql)).as(sql).isTrue();
    }
    assertThat(postgres.endsTransaction("LOCK TABLE t IN SHARE MODE")).isFalse();
    assertThat(postgres.endsTransaction("EXECUTE p (1)")).isFalse();
    assertThat(postgres.endsTransaction("SET LOCAL lock_timeout = 1")).isFalse();
    assertThat(mariaDb.endsTransaction("SET innodb_lock_wait_timeout = 1")).isFalse();
    assertThat(mariaDb.endsTransaction("SET STATEMENT a = 1 FOR SELECT 1")).isFalse();
    assertThat(h2.endsTransaction("SET SCHEMA shop")).isFalse();
    assertThat(h2.endsTransaction("SET LOCK_TIMEOUT 1")).isFalse();
  }

  @Test
  void stringsAndCommentsAreThoseOfTheDatabase() {
    assertThat(postgres.endsTransaction("SELECT 5 # 3; COMMIT")).isTrue();
    assertThat(mariaDb.endsTransaction("SELECT 5 # 3; COMMIT")).isFalse();
    assertThat(mariaDb.endsTransaction("SELECT 'it\\'s; COMMIT'")).isFalse();
    assertThat(postgres.endsTransaction("SELECT 'c:\\'; COMMIT")).isTrue();
    assertThat(postgres.endsTransaction("SELECT E'it\\'s; COMMIT'")).isFalse();
    assertThat(postgres.endsTransaction("SELECT $a$; COMMIT$a$")).isFalse();
    assertThat(postgres.endsTransaction("SELECT $a$; COMMIT$a$; COMMIT")).isTrue();
    assertThat(mariaDb.endsTransaction("/*! COMMIT */")).isTrue();
    assertThat(mariaDb.endsTransaction("/*M!100100 COMMIT */")).isTrue();
    assertThat(postgres.endsTransaction("/*! COMMIT */ SELECT 1")).isFalse();
    assertThat(mariaDb.endsTransaction("/* /* */ COMMIT")).isTrue();
    assertThat(postgres.endsTransaction("/* /* */ */ COMMIT")).isTrue();
    assertThat(postgres.endsTransaction("/* /* */ COMMIT */ SELECT 1")).isFalse();
    assertThat(mariaDb.endsTransaction("SELECT 5--3; COMMIT")).isTrue();
  }
}
