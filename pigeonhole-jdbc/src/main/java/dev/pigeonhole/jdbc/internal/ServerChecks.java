package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreSettings;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;

/** What each kind of server must be set to, so that a commit that was confirmed stays. */
final class ServerChecks {

  private static final int OLDEST_POSTGRES = 140_000;
  private static final int OLDEST_MARIADB = 1006;
  private static final int OLDEST_TESTED_MARIADB = 1011;
  private static final int NEWEST_TESTED_MARIADB = 1104;
  private static final int OLDEST_H2 = 202;
  private static final long BESIDE_PAYLOAD = 1 << 20;

  private ServerChecks() {}

  static void run(Session session, StoreSettings settings, Findings findings) throws SQLException {
    switch (session.dialect.name()) {
      case "postgresql" -> postgres(session, findings);
      case "mariadb" -> mariaDb(session, settings, findings);
      default -> h2(session, findings);
    }
  }

  /**
   * Asks the server which isolation a transaction of ours has. It was set, but what stands between
   * may have kept it: under a snapshot, a look after a lock shows what was there before.
   */
  static void isolation(Session session, Findings findings) throws SQLException {
    String level = value(session, session.dialect.isolation()).replace('-', ' ');
    findings.problemIf(
        !level.equals("read committed"),
        ErrorCode.DATABASE_ISOLATION,
        ("Transactions run as %s although READ COMMITTED was asked for. Let the pool or proxy pass"
                + " setTransactionIsolation on, or make READ COMMITTED its default.")
            .formatted(level.toUpperCase(Locale.ROOT)));
  }

  private static String value(Session session, String expression) throws SQLException {
    return session
        .query("SELECT " + expression, params -> {}, row -> String.valueOf(row.getString(1)))
        .get(0)
        .toLowerCase(Locale.ROOT);
  }

  private static void postgres(Session session, Findings findings) throws SQLException {
    int version = Integer.parseInt(value(session, "current_setting('server_version_num')"));
    findings.problemIf(
        version < OLDEST_POSTGRES,
        ErrorCode.DATABASE_UNSUPPORTED,
        "PostgreSQL has version %d, and 14 is the oldest supported one."
            .formatted(version / 10_000));
    for (String setting : new String[] {"fsync", "full_page_writes", "synchronous_commit"}) {
      findings.problemIf(
          value(session, "current_setting('" + setting + "')").equals("off"),
          ErrorCode.DATABASE_NOT_DURABLE,
          "%s is off, so a crash of the server loses messages that were accepted. Set it to on."
              .formatted(setting));
    }
    boolean readOnly =
        value(session, "pg_is_in_recovery()").startsWith("t")
            || value(session, "current_setting('transaction_read_only')").equals("on");
    readOnly(readOnly, findings);
    String encoding = value(session, "current_setting('server_encoding')");
    findings.problemIf(
        !encoding.equals("utf8"),
        ErrorCode.SCHEMA_COLLATION,
        "The database is encoded as %s and cannot hold every id. Create it with ENCODING 'UTF8'."
            .formatted(encoding));
  }

  private static void readOnly(boolean readOnly, Findings findings) {
    findings.problemIf(
        readOnly,
        ErrorCode.DATABASE_READ_ONLY,
        "The connection is read-only: a replica, or a read-only pool. Point the data source to"
            + " the primary.");
  }

  private static void mariaDb(Session session, StoreSettings settings, Findings findings)
      throws SQLException {
    String text = value(session, "VERSION()");
    int version = twoParts(text);
    findings.problemIf(
        version < OLDEST_MARIADB,
        ErrorCode.DATABASE_UNSUPPORTED,
        "MariaDB has version %s, and 10.6 is the oldest that can skip locked rows."
            .formatted(text));
    if (version < OLDEST_TESTED_MARIADB || version > NEWEST_TESTED_MARIADB) {
      findings.warning(
          ErrorCode.DATABASE_UNSUPPORTED,
          "MariaDB %s has not been tested; 10.11 to 11.4 have.".formatted(text));
    }
    findings.problemIf(
        !value(session, "@@innodb_flush_log_at_trx_commit").equals("1"),
        ErrorCode.DATABASE_NOT_DURABLE,
        "innodb_flush_log_at_trx_commit is not 1, so a crash of the server loses messages that"
            + " were accepted. Set it to 1.");
    if (!value(session, "@@log_bin").equals("0")) {
      findings.problemIf(
          !value(session, "@@sync_binlog").equals("1"),
          ErrorCode.DATABASE_NOT_DURABLE,
          "The binary log is on and sync_binlog is not 1, so a crash can undo what was"
              + " confirmed. Set it to 1.");
      findings.problemIf(
          value(session, "@@binlog_format").equals("statement"),
          ErrorCode.BINLOG_STATEMENT,
          "binlog_format is STATEMENT, which does not fit READ COMMITTED and SKIP LOCKED. Set"
              + " it to ROW or MIXED.");
    }
    galera(session, findings);
    readOnly(!value(session, "@@read_only").equals("0"), findings);
    long packet = Long.parseLong(value(session, "@@max_allowed_packet"));
    long needed = 2L * settings.maxPayload() + BESIDE_PAYLOAD;
    findings.problemIf(
        packet < needed,
        ErrorCode.PACKET_TOO_SMALL,
        ("max_allowed_packet is %d, and a payload of %d bytes may need %d. Raise it, or lower"
                + " maxPayload.")
            .formatted(packet, settings.maxPayload(), needed));
    findings.problemIf(
        !value(session, "@@sql_safe_updates").equals("0"),
        ErrorCode.SAFE_UPDATES,
        "sql_safe_updates is on, so the server rejects statements of the inbox that update or delete"
            + " rows without an index (error 1175). Set it to 0 for the connections of the inbox, for"
            + " example with sessionVariables=sql_safe_updates=0 in the JDBC URL.");
    if (!value(session, "@@sql_mode").contains("strict")) {
      findings.warning(
          ErrorCode.SQL_MODE,
          "sql_mode is not strict. The inbox is for itself, but your own tables cut what is too"
              + " long, silently.");
    }
  }

  /** Which server the other nodes of the inbox write to cannot be seen from here. */
  private static void galera(Session session, Findings findings) throws SQLException {
    String cluster =
        session
            .one(
                "SELECT variable_value FROM information_schema.global_variables"
                    + " WHERE variable_name = 'WSREP_ON'",
                params -> {},
                row -> row.getString(1))
            .orElse("OFF");
    if (cluster.equalsIgnoreCase("ON")) {
      findings.warning(
          ErrorCode.DATABASE_UNSUPPORTED,
          "The server belongs to a Galera cluster, which has not been tested. Its row locks hold on"
              + " one server only: let all nodes of the inbox write to the same one.");
    }
  }

  private static int twoParts(String version) {
    String[] parts = version.split("[^0-9]+");
    return Integer.parseInt(parts[0]) * 100 + Integer.parseInt(parts[1]);
  }

  private static void h2(Session session, Findings findings) throws SQLException {
    String text = value(session, "H2VERSION()");
    findings.problemIf(
        twoParts(text) < OLDEST_H2,
        ErrorCode.DATABASE_UNSUPPORTED,
        "H2 has version %s, and 2.2 is the oldest supported one.".formatted(text));
    readOnly(value(session, "READONLY()").equals("true"), findings);
    boolean file = !value(session, "DATABASE_PATH()").equals("null");
    if (file && !flushesAtCommit(session)) {
      flushAtCommit(session, findings);
    }
    for (String collation : setting(session, "COLLATION")) {
      findings.problemIf(
          !collation.toLowerCase(Locale.ROOT).startsWith("off"),
          ErrorCode.SCHEMA_COLLATION,
          ("The database compares text by the collation %s, so different ids may be the same."
                  + " Create it without one.")
              .formatted(collation));
    }
  }

  /** By default H2 flushes half a second after it has confirmed a commit. */
  private static void flushAtCommit(Session session, Findings findings) throws SQLException {
    try {
      session.update("SET WRITE_DELAY 0", params -> {});
    } catch (SQLException e) {
      findings.problem(
          ErrorCode.DATABASE_NOT_DURABLE,
          "WRITE_DELAY cannot be set to 0, so a killed process loses messages that were"
              + " accepted. Add ;WRITE_DELAY=0 to the URL: "
              + e.getMessage());
      return;
    }
    findings.problemIf(
        !flushesAtCommit(session),
        ErrorCode.DATABASE_NOT_DURABLE,
        "WRITE_DELAY does not stay 0, so a killed process loses messages that were accepted."
            + " Add ;WRITE_DELAY=0 to the URL.");
  }

  /** The stored setting and the one in use have a row each. */
  private static boolean flushesAtCommit(Session session) throws SQLException {
    List<String> delays = setting(session, "WRITE_DELAY");
    return !delays.isEmpty() && delays.stream().allMatch("0"::equals);
  }

  private static List<String> setting(Session session, String name) throws SQLException {
    return session.query(
        "SELECT setting_value FROM information_schema.settings WHERE setting_name = ?",
        params -> params.add(name),
        row -> row.getString(1));
  }
}
