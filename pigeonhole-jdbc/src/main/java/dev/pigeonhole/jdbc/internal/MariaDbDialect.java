package dev.pigeonhole.jdbc.internal;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** MariaDB 10.6 and later. Times are UTC in columns without a zone. */
final class MariaDbDialect implements Dialect {

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS", Locale.ROOT);

  @Override
  public String name() {
    return "mariadb";
  }

  @Override
  public char quote() {
    return '`';
  }

  @Override
  public boolean schemasAreCatalogs() {
    return true;
  }

  @Override
  public String now() {
    return "UTC_TIMESTAMP(6)";
  }

  @Override
  public String literal(Instant time) {
    return "TIMESTAMP '" + TIME.format(LocalDateTime.ofInstant(time, ZoneOffset.UTC)) + "'";
  }

  @Override
  public String plusMicros(String time, String micros) {
    return "%s + INTERVAL (%s) MICROSECOND".formatted(time, micros);
  }

  @Override
  public String timeType() {
    return "datetime(6)";
  }

  @Override
  public String nextValue(String sequence) {
    return "NEXT VALUE FOR " + sequence;
  }

  @Override
  public void bind(PreparedStatement statement, int index, @Nullable Instant time)
      throws SQLException {
    if (time == null) {
      statement.setNull(index, Types.TIMESTAMP);
    } else {
      statement.setObject(
          index, LocalDateTime.ofInstant(time.truncatedTo(ChronoUnit.MICROS), ZoneOffset.UTC));
    }
  }

  @Override
  public @Nullable Instant read(ResultSet result, int index) throws SQLException {
    LocalDateTime time = result.getObject(index, LocalDateTime.class);
    return time == null ? null : time.toInstant(ZoneOffset.UTC);
  }

  @Override
  public String returning(String insert, String columns) {
    return insert + " RETURNING " + columns;
  }

  /** INSERT IGNORE would also swallow what does not fit; this swallows the repeat alone. */
  @Override
  public <R> void insertIfAbsent(
      Session session, String insert, String key, String row, List<R> rows, Params.Binder<R> binder)
      throws SQLException {
    String first = key.split(",")[0];
    session.insert(insert, row, " ON DUPLICATE KEY UPDATE " + first + " = " + first, rows, binder);
  }

  @Override
  public String grantSequence(String sequence, String grantee) {
    return "GRANT SELECT, INSERT ON %s TO %s;\n".formatted(sequence, grantee);
  }

  @Override
  public String isStandby() {
    return "@@global.read_only <> 0";
  }

  @Override
  public String isolation() {
    return "@@tx_isolation";
  }

  @Override
  public LoanSettings loanSettings() {
    return new MariaDbLoanSettings();
  }

  @Override
  public String holderOfMigrationLock(String name) {
    return "SELECT IS_USED_LOCK('%s')".formatted(name);
  }

  @Override
  public Fault fault(SQLException e) {
    SQLException root = Errors.root(e);
    String state = root.getSQLState() == null ? "" : root.getSQLState();
    return switch (root.getErrorCode()) {
      case 1213, 1020 -> Fault.DEADLOCK;
      case 1205 -> Fault.LOCK_TIMEOUT;
      case 1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 2055 -> Fault.LOST;
      case 1021, 1030, 1037, 1038, 1040, 1041, 1047, 1114, 1203, 1226, 1290, 1637, 1792, 1836 ->
          Fault.BUSY;
      case 1317, 1969, 3024 -> Fault.CANCELLED;
      case 1062, 1586, 1022 -> Fault.DUPLICATE;
      case 1153 -> Fault.TOO_LARGE;
      case 1048, 1118, 1264, 1265, 1292, 1301, 1364, 1366, 1406, 1644, 1690, 4025 -> Fault.DATA;
      case 1044, 1045, 1049, 1142, 1143, 1146, 1227, 1370 -> Fault.FORBIDDEN;
      default -> {
        if (state.startsWith("08") || Errors.lostByType(e)) {
          yield Fault.LOST;
        }
        if (state.equals(
            "HZ000")) { // the driver sends nothing that is larger than max_allowed_packet
          yield Fault.TOO_LARGE;
        }
        if (state.startsWith("22")) {
          yield Fault.DATA;
        }
        yield state.startsWith("40") ? Fault.DEADLOCK : Fault.OTHER;
      }
    };
  }

  /** A plain read would make it before the statements that wait for other transactions. */
  @Override
  public String withoutSnapshot() {
    return " LOCK IN SHARE MODE";
  }

  @Override
  public String driverConnection() {
    return "org.mariadb.jdbc.Connection";
  }

  @Override
  public Catalogue.Questions catalogue() {
    return Catalogue.MARIADB;
  }

  @Override
  public GuardSql guardSql() {
    return new MariaDbGuardSql(this);
  }

  @Override
  public Statements statements() {
    return new MariaDbStatements();
  }
}
