package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Sorts rows of {@code later} into what is due, oldest due time first, and what comes next. */
final class DueRows {

  private static final int DUE_AT = 11;
  private static final int NOW = 12;

  private record Row(Delivery delivery, Instant dueAt, Duration until) {
    long seq() {
      return delivery.seq();
    }

    DuePosition position() {
      return new DuePosition(dueAt, seq());
    }
  }

  private final List<DueRange> ranges;
  private final List<Row> found = new ArrayList<>();
  private @Nullable Duration untilNext;

  DueRows(List<DueRange> ranges) {
    this.ranges = ranges;
  }

  /** Takes a row that has its due time and the database's time behind the delivery's columns. */
  Delivery add(ResultSet row, Session session) throws SQLException {
    Delivery delivery = Session.delivery(row, true);
    Instant dueAt = session.time(row, DUE_AT);
    found.add(new Row(delivery, dueAt, Duration.between(session.time(row, NOW), dueAt)));
    return delivery;
  }

  DueRead read() {
    Map<Cell, Integer> left = new HashMap<>();
    ranges.forEach(each -> left.put(each.cell(), each.limit()));
    Map<Cell, DuePosition> last = new HashMap<>();
    Map<Cell, DuePosition> cut = new HashMap<>();
    List<Delivery> rows = new ArrayList<>();
    found.sort(Comparator.comparing(Row::dueAt).thenComparing(Row::seq));
    for (Row row : found) {
      Cell cell = row.delivery().cell();
      int room = left.getOrDefault(cell, 0);
      if (row.until().compareTo(Duration.ZERO) > 0) {
        next(row.until());
      } else if (room == 0) {
        next(Duration.ZERO);
        DuePosition position = last.get(cell);
        if (position != null) {
          cut.put(cell, position);
        }
      } else {
        left.put(cell, room - 1);
        last.put(cell, row.position());
        rows.add(row.delivery());
      }
    }
    return new DueRead(List.copyOf(rows), Optional.ofNullable(untilNext), Map.copyOf(cut));
  }

  private void next(Duration wait) {
    if (untilNext == null || wait.compareTo(untilNext) < 0) {
      untilNext = wait;
    }
  }
}
