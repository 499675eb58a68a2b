package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRead;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Sorts rows of {@code later}, oldest due time first, into what is due and what comes next. */
final class DueRows {

  private static final int DUE_AT = 11;
  private static final int NOW = 12;

  private final Map<Cell, Integer> left = new HashMap<>();
  private final List<Delivery> rows = new ArrayList<>();
  private @Nullable Duration untilNext;

  DueRows(List<CellLimit> cells) {
    cells.forEach(each -> left.put(each.cell(), each.limit()));
  }

  /** Takes a row that has its due time and the database's time behind the delivery's columns. */
  Delivery add(ResultSet row, Session session) throws SQLException {
    Delivery delivery = Session.delivery(row, true);
    Duration wait = Duration.between(session.time(row, NOW), session.time(row, DUE_AT));
    int room = left.getOrDefault(delivery.cell(), 0);
    if (wait.compareTo(Duration.ZERO) > 0) {
      next(wait);
    } else if (room == 0) {
      next(Duration.ZERO);
    } else {
      left.put(delivery.cell(), room - 1);
      rows.add(delivery);
    }
    return delivery;
  }

  private void next(Duration wait) {
    if (untilNext == null || wait.compareTo(untilNext) < 0) {
      untilNext = wait;
    }
  }

  DueRead read() {
    return new DueRead(List.copyOf(rows), Optional.ofNullable(untilNext));
  }
}
