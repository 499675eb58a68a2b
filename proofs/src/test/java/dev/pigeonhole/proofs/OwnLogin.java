package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A login for one process alone, so that the server can tell its sessions from those of all others.
 *
 * @param forProcess the same database, as that process is to see it
 */
record OwnLogin(TestDatabase database, TestDatabase forProcess) {
  private static final String PASSWORD = "secret";

  static OwnLogin on(TestDatabase database) {
    String user = "alone_" + database.schema();
    if (database.kind() == DatabaseKind.POSTGRES) {
      database.execute("CREATE ROLE " + user + " LOGIN SUPERUSER PASSWORD '" + PASSWORD + "'");
    } else {
      database.execute("CREATE USER " + user + " IDENTIFIED BY '" + PASSWORD + "'");
      database.execute("GRANT ALL ON " + database.schema() + ".* TO " + user);
    }
    return new OwnLogin(database, TestDatabase.attach(database.jdbcUrl(), user, PASSWORD));
  }

  /**
   * The transactions of the process that have locks and wait for its next statement, each as the
   * number of its session and its own.
   */
  Set<String> idleWithLocks() {
    return ask(
        database.kind() == DatabaseKind.POSTGRES
            ? """
              SELECT concat(pid, '/', backend_xid) AS id FROM pg_stat_activity
              WHERE usename = ? AND state = 'idle in transaction' AND backend_xid IS NOT NULL
              """
            : """
              SELECT CONCAT(p.id, '/', t.trx_id) AS id FROM information_schema.innodb_trx t
              JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
              WHERE p.user = ? AND p.command = 'Sleep' AND t.trx_lock_structs > 0
              """);
  }

  /** The numbers of all sessions of the process. */
  Set<String> sessions() {
    return ask(
        database.kind() == DatabaseKind.POSTGRES
            ? "SELECT pid AS id FROM pg_stat_activity WHERE usename = ?"
            : "SELECT id FROM information_schema.processlist WHERE user = ?");
  }

  private Set<String> ask(String query) {
    return database.rows(query, forProcess.user()).stream()
        .map(row -> Tables.text(row.get("id")))
        .collect(Collectors.toUnmodifiableSet());
  }
}
