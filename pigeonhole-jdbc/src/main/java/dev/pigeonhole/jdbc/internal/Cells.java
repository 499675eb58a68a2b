package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import java.sql.SQLException;
import java.util.List;

/** Every cell, for those who look and own none. */
final class Cells {

  private static final String READ =
      "SELECT lane, handler, owner, token, unclean FROM {lane} ORDER BY handler, lane";

  private Cells() {}

  static List<CellRow> read(Session session) throws SQLException {
    return session.query(
        READ,
        params -> {},
        row ->
            new CellRow(
                new Cell(row.getInt(1), row.getInt(2)),
                row.getLong(3),
                row.getLong(4),
                row.getBoolean(5)));
  }
}
