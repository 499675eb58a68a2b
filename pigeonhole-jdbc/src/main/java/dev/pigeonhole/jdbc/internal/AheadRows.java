package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Questions about order, asked once per key, and the rows that answer them. */
final class AheadRows {

  private record Key(Cell cell, long keyHash) {}

  private static final int TABLE = 11;

  // As the servers themselves refuse to write on a standby: the same may succeed later.
  private static final String READ_ONLY = "25006";
  private static final int READ_ONLY_ON_MARIADB = 1290;

  private final List<Ahead> questions;
  private final Map<Key, Ahead> highest = new LinkedHashMap<>();
  private final Map<Key, Long> poisoned = new HashMap<>();
  private final Map<Key, Set<Delivery>> open = new LinkedHashMap<>();

  AheadRows(List<Ahead> questions) {
    this.questions = questions;
    for (Ahead each : questions) {
      highest.merge(
          new Key(each.cell(), each.keyHash()), each, (a, b) -> a.seq() >= b.seq() ? a : b);
    }
  }

  /** For each key the question with the highest number. */
  List<Ahead> highestOfKeys() {
    return List.copyOf(highest.values());
  }

  /**
   * Takes a row that names its table behind the delivery's columns: d, l or p. A row of s shows
   * that a standby has answered, which may not have received the rows ahead yet.
   */
  Object add(ResultSet row) throws SQLException {
    String table = row.getString(TABLE);
    if (table.equals("s")) {
      throw new SQLException(
          "A standby answered a read that decides the order of deliveries, and it may lag behind."
              + " Send all statements of the inbox to the primary: read/write splitting is not"
              + " supported.",
          READ_ONLY,
          READ_ONLY_ON_MARIADB);
    }
    Delivery delivery = Session.delivery(row, table.equals("l"));
    Long hash = delivery.keyHash();
    Key key = new Key(delivery.cell(), hash == null ? 0 : hash);
    Ahead asked = highest.get(key);
    if (asked == null || delivery.seq() >= asked.seq()) {
      return delivery;
    }
    if (table.equals("p")) {
      poisoned.merge(key, delivery.seq(), Math::min);
    } else {
      open.computeIfAbsent(key, none -> new LinkedHashSet<>()).add(delivery);
    }
    return delivery;
  }

  AheadRead read() {
    Set<Ahead> blocked = new LinkedHashSet<>();
    for (Ahead each : questions) {
      Long head = poisoned.get(new Key(each.cell(), each.keyHash()));
      if (head != null && head < each.seq()) {
        blocked.add(each);
      }
    }
    return new AheadRead(lowest(), blocked);
  }

  /** Two tables were asked for as many each; only so many are known to be the lowest. */
  private List<Delivery> lowest() {
    return open.values().stream()
        .flatMap(
            rows -> rows.stream().sorted(Comparator.comparingLong(Delivery::seq)).limit(Ahead.MOST))
        .toList();
  }
}
