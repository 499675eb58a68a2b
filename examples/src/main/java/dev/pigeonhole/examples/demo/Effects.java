package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.Mode;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Counts what really happened, with nothing of the library: effects from a file and from a table,
 * and what the library says about itself by plain SQL.
 */
final class Effects {

  private static final String UNSETTLED =
      """
      SELECT h.handler_key, m.id, s.state
      FROM (SELECT seq, key_id, 'pending' AS state FROM {delivery}
            UNION ALL
            SELECT seq, key_id, CASE WHEN due_at IS NULL THEN 'held' ELSE 'pending' END
            FROM {later}
            UNION ALL
            SELECT seq, key_id, 'poisoned' FROM {poison}) s
      JOIN {message} m ON m.seq = s.seq
      JOIN {handler} h ON h.key_id = s.key_id
      """;

  private static final String COMPLETED =
      """
      SELECT h.handler_key, count(*)
      FROM {receipt} r
      JOIN {handler} h ON h.key_id = r.key_id
      GROUP BY h.handler_key
      """;

  /** Of what inline handlers have not finished there is no row: it is with the source. */
  private static final String WITHOUT_RECEIPT =
      """
      SELECT h.handler_key, m.id
      FROM {message} m CROSS JOIN {handler} h
      WHERE NOT EXISTS (SELECT 1 FROM {receipt} r WHERE r.seq = m.seq AND r.key_id = h.key_id)
      """;

  /** One handler while it is counted; the arrays are indexed by the number of the order. */
  private static final class Count {
    final int[] effects;
    final int[] invocations;
    final BitSet unsettled = new BitSet();
    final BitSet withoutReceipt = new BitSet(); // of inline handlers
    long completed;
    long poisoned;
    long held;
    long pending;

    Count(int messages) {
      this.effects = new int[messages];
      this.invocations = new int[messages];
    }
  }

  private final Plan plan;
  private final int messages;
  private final Mode mode;
  private final List<String> keys = Handlers.KEYS;
  private final List<Count> counts;
  private final BitSet arrived = new BitSet();
  private long accepted;
  private long broughtAgain;
  private long inversions;

  private Effects(Plan plan, Options options) {
    this.plan = plan;
    this.messages = options.messages();
    this.mode = options.mode();
    this.counts = keys.stream().map(key -> new Count(messages)).toList();
  }

  /** Reads everything that the workers left behind. */
  static Effects read(Plan plan, Options options, Path directory, Connection connection)
      throws IOException, SQLException {
    Effects effects = new Effects(plan, options);
    effects.readTables(connection);
    effects.readEffects(Handlers.effects(directory));
    effects.readAttempts(Handlers.attempts(directory));
    return effects;
  }

  long accepted() {
    return accepted;
  }

  /** The orders that are in the store. */
  BitSet arrived() {
    return (BitSet) arrived.clone();
  }

  /** How many copies came to the inbox beyond the first of each order. */
  long broughtAgain() {
    return broughtAgain;
  }

  long inversions() {
    return inversions;
  }

  /**
   * The rows of the report.
   *
   * @param answered the orders of which somebody was told that they are stored, or finished
   * @param deadLetters what the source has given up
   */
  List<Report.Row> rows(BitSet answered, DeadLetters deadLetters) {
    return keys.stream().map(key -> row(key, answered, deadLetters.of(key))).toList();
  }

  private Report.Row row(String key, BitSet answered, BitSet givenUp) {
    Count count = count(key);
    // What was neither given up nor answered will be brought again. If the source was told that it
    // is finished, nobody will bring it: then it is missing in the sum, and lost without an effect.
    BitSet returning = (BitSet) count.withoutReceipt.clone();
    returning.andNot(givenUp);
    returning.andNot(answered);
    BitSet unsettled = (BitSet) count.unsettled.clone();
    unsettled.or(givenUp);
    unsettled.or(returning);
    long lost = 0;
    long doubled = 0;
    for (int order = 0; order < messages; order++) {
      if (count.effects[order] == 0 && answered.get(order) && !unsettled.get(order)) {
        lost++;
      }
      doubled += Math.max(0, count.effects[order] - 1);
    }
    return new Report.Row(
        key,
        key.equals(Handlers.LEDGER),
        count.completed,
        count.poisoned + givenUp.cardinality(),
        count.held,
        count.pending + returning.cardinality(),
        Arrays.stream(count.invocations).sum(),
        Arrays.stream(count.invocations).map(n -> Math.max(0, n - 1)).sum(),
        lost,
        doubled);
  }

  private void readTables(Connection connection) throws SQLException {
    String quote = connection.getMetaData().getIdentifierQuoteString();
    try (Statement statement = connection.createStatement()) {
      try (ResultSet rows =
          statement.executeQuery(named("SELECT id, repeats FROM {message}", quote))) {
        while (rows.next()) {
          accepted++;
          arrived.set(Plan.number(rows.getString(1)));
          broughtAgain += rows.getLong(2);
        }
      }
      try (ResultSet rows = statement.executeQuery(named(COMPLETED, quote))) {
        while (rows.next()) {
          count(rows.getString(1)).completed = rows.getLong(2);
        }
      }
      try (ResultSet rows = statement.executeQuery(named(UNSETTLED, quote))) {
        while (rows.next()) {
          unsettled(count(rows.getString(1)), Plan.number(rows.getString(2)), rows.getString(3));
        }
      }
      if (mode == Mode.INLINE) {
        try (ResultSet rows = statement.executeQuery(named(WITHOUT_RECEIPT, quote))) {
          while (rows.next()) {
            count(rows.getString(1)).withoutReceipt.set(Plan.number(rows.getString(2)));
          }
        }
      }
      try (ResultSet rows = statement.executeQuery("SELECT order_id FROM ledger_entry")) {
        while (rows.next()) {
          count(Handlers.LEDGER).effects[Plan.number(rows.getString(1))]++;
        }
      }
    }
  }

  private static String named(String sql, String quote) {
    return sql.replaceAll("\\{(\\w+)}", quote + "pigeonhole_$1" + quote);
  }

  private static void unsettled(Count count, int order, String state) {
    count.unsettled.set(order);
    switch (state) {
      case "pending" -> count.pending++;
      case "held" -> count.held++;
      default -> count.poisoned++;
    }
  }

  private void readEffects(Path file) throws IOException {
    int[] newestOfCustomer = new int[messages];
    Arrays.fill(newestOfCustomer, -1);
    forEachLine(
        file,
        (key, order) -> {
          boolean first = count(key).effects[order]++ == 0;
          if (first && key.equals(Handlers.WAREHOUSE)) {
            int customer = plan.customer(order);
            if (order < newestOfCustomer[customer]) {
              inversions++;
            }
            newestOfCustomer[customer] = Math.max(order, newestOfCustomer[customer]);
          }
        });
  }

  private void readAttempts(Path file) throws IOException {
    forEachLine(file, (key, order) -> count(key).invocations[order]++);
  }

  private interface Line {
    void seen(String key, int order);
  }

  private static void forEachLine(Path file, Line line) throws IOException {
    try (BufferedReader reader = Files.newBufferedReader(file)) {
      for (String text = reader.readLine(); text != null; text = reader.readLine()) {
        int space = text.indexOf(' ');
        line.seen(text.substring(0, space), Integer.parseInt(text.substring(space + 1)));
      }
    } catch (NoSuchFileException e) {
      // No worker came as far as that.
    }
  }

  private Count count(String key) {
    return counts.get(keys.indexOf(key));
  }
}
