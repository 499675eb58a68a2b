package dev.pigeonhole.proofs;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** A process that migrates and ends. Arguments: JDBC address, user, password. */
public final class Migration {
  private Migration() {}

  public static void main(String[] args) {
    ParentWatch.install();
    Schema.migrate(TestDatabase.attach(args[0], args[1], args[2]).dataSource());
  }

  /** Tables, columns, indexes, and which scripts were applied, as the database itself tells. */
  static List<String> result(TestDatabase database) throws SQLException {
    List<String> result = new ArrayList<>();
    try (Connection connection = database.dataSource().getConnection()) {
      DatabaseMetaData meta = connection.getMetaData();
      String catalog = connection.getCatalog();
      String schema = connection.getSchema();
      TreeSet<String> tables = new TreeSet<>();
      try (ResultSet rows = meta.getTables(catalog, schema, "%", null)) {
        while (rows.next()) {
          result.add(rows.getString("TABLE_TYPE") + " " + rows.getString("TABLE_NAME"));
          tables.add(rows.getString("TABLE_NAME"));
        }
      }
      try (ResultSet rows = meta.getColumns(catalog, schema, "%", "%")) {
        while (rows.next()) {
          result.add(
              "COLUMN %s.%s %s(%s) null=%s default=%s"
                  .formatted(
                      rows.getString("TABLE_NAME"),
                      rows.getString("COLUMN_NAME"),
                      rows.getString("TYPE_NAME"),
                      rows.getString("COLUMN_SIZE"),
                      rows.getString("IS_NULLABLE"),
                      rows.getString("COLUMN_DEF")));
        }
      }
      for (String table : tables) {
        try (ResultSet rows = meta.getIndexInfo(catalog, schema, table, false, true)) {
          while (rows.next()) {
            result.add(
                "INDEX %s.%s unique=%s %s %s"
                    .formatted(
                        table,
                        rows.getString("INDEX_NAME"),
                        !rows.getBoolean("NON_UNIQUE"),
                        rows.getString("ORDINAL_POSITION"),
                        rows.getString("COLUMN_NAME")));
          }
        }
      }
    }
    database
        .rows("SELECT version, checksum FROM " + Tables.name(database, "schema_history"))
        .forEach(
            row ->
                result.add(
                    "APPLIED " + row.get("version") + " " + Tables.text(row.get("checksum"))));
    return result.stream().sorted().toList();
  }
}
