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
            "LOCK TABLE t IN SHARE MODE",
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
