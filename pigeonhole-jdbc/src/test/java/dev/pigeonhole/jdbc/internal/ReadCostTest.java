package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Reading costs what was asked for, not what waits, and the servers themselves count it: PostgreSQL
 * in the plan as it was executed, MariaDB in the counters of the session.
 */
class ReadCostTest {
  private static final int MANY =
      "full".equals(System.getProperty("pigeonhole.size")) ? 1_000_000 : 50_000;
  private static final int LANES = 64;
  private static final String LANE_OF_ROW = "MOD(n, " + LANES + ")";
  private static final int LIMIT = 16;
  private static final int BLOCKED_KEYS = 10_000;

  private static final int PAUSED = 1;
  private static final int TOMORROW = 2;
  private static final int ORDERED = 3;
  private static final int HEALTHY = 4;
  private static final int PLACED = 5;

  /** As far as types are counted here. */
  private static final int COUNTED = 1_000;

  private static final long HOT_KEY = -7;
  private static final long HOT_LATER = -8;
  private static final long AFTER_ALL = 9_000_000;

  /** Reads of any kind cost at most so many times what was asked for. */
  private static final int TIMES = 4;

  /** What a statement was asked for, and the rows that it touched for it. */
  private record Cost(String what, long asked, long read) {}

  @Test
  void postgresReadsWhatItIsAskedFor() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Jdbc jdbc = grown(database);
      check(
          jdbc,
          new Reader() {
            @Override
            public long fresh(Session session, List<Range> ranges) throws SQLException {
              return Costs.explain(
                  session,
                  PostgresStatements::fenced,
                  PostgresStatements.FRESH,
                  params -> PostgresStatements.bindRanges(params, ranges));
            }

            @Override
            public long due(Session session, List<DueRange> due) throws SQLException {
              return Costs.explain(
                  session,
                  PostgresStatements::inOrder,
                  PostgresStatements.DUE,
                  params -> PostgresStatements.bindDue(params, due));
            }

            @Override
            public long ahead(Session session, List<Ahead> rows) throws SQLException {
              return Costs.explain(
                  session,
                  PostgresStatements::inOrder,
                  PostgresStatements.AHEAD,
                  params -> PostgresStatements.bindAhead(params, rows));
            }

            @Override
            public long placed(Session session, List<CellLimit> cells) throws SQLException {
              return Costs.explain(
                  session,
                  PostgresStatements::inOrder,
                  PostgresStatements.PLACED,
                  params -> PostgresStatements.bindLimits(params, cells));
            }

            @Override
            public long types(Session session, String rows, int most) throws SQLException {
              return Costs.explain(
                  session,
                  PostgresStatements::fenced,
                  BoundedCounts.typesOf(rows),
                  params -> params.add(most));
            }
          });
    }
  }

  @Test
  void mariaDbReadsWhatItIsAskedFor() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Jdbc jdbc = grown(database);
      Statements statements = jdbc.dialect.statements();
      check(
          jdbc,
          new Reader() {
            @Override
            public long fresh(Session session, List<Range> ranges) throws SQLException {
              return Costs.counted(session, () -> statements.fresh(session, ranges));
            }

            @Override
            public long due(Session session, List<DueRange> due) throws SQLException {
              return Costs.counted(session, () -> statements.due(session, due));
            }

            @Override
            public long ahead(Session session, List<Ahead> rows) throws SQLException {
              return Costs.counted(session, () -> statements.ahead(session, rows));
            }

            @Override
            public long placed(Session session, List<CellLimit> cells) throws SQLException {
              return Costs.counted(session, () -> statements.placed(session, cells));
            }

            @Override
            public long types(Session session, String rows, int most) throws SQLException {
              BoundedCounts counts = new BoundedCounts(jdbc, statements, new Families());
              return Costs.counted(session, () -> counts.byType(session, rows, most));
            }
          });
    }
  }

  /** The reads, each answering how many rows it touched. */
  private interface Reader {
    long fresh(Session session, List<Range> ranges) throws SQLException;

    long due(Session session, List<DueRange> due) throws SQLException;

    long ahead(Session session, List<Ahead> rows) throws SQLException;

    long placed(Session session, List<CellLimit> cells) throws SQLException;

    long types(Session session, String rows, int most) throws SQLException;
  }

  private static void check(Jdbc jdbc, Reader reader) {
    List<Cost> costs =
        jdbc.read(
            session -> {
              long limits = (long) LANES * LIMIT;
              List<Ahead> hot =
                  List.of(
                      new Ahead(new Cell(0, ORDERED), HOT_KEY, AFTER_ALL),
                      new Ahead(new Cell(0, ORDERED), HOT_LATER, AFTER_ALL));
              // In the lane of the hot key: it must not be walked through to find nothing.
              List<Ahead> free =
                  IntStream.range(0, 50)
                      .mapToObj(n -> new Ahead(new Cell(0, ORDERED), -1_000L - n, AFTER_ALL))
                      .toList();
              List<Ahead> blocked =
                  IntStream.range(0, 50)
                      .mapToObj(n -> new Ahead(new Cell(n % LANES, ORDERED), 1L + n, AFTER_ALL))
                      .toList();
              return List.of(
                  new Cost("fresh", limits, reader.fresh(session, ranges(HEALTHY))),
                  new Cost("fresh of many", limits, reader.fresh(session, ranges(PAUSED))),
                  new Cost("due", limits, reader.due(session, due(HEALTHY))),
                  new Cost("due tomorrow", limits, reader.due(session, due(TOMORROW))),
                  new Cost(
                      "due tomorrow behind a position",
                      limits,
                      reader.due(session, due(TOMORROW, halfWay(session)))),
                  new Cost("due behind poison", limits, reader.due(session, due(ORDERED))),
                  new Cost(
                      "due of everybody",
                      4 * limits,
                      reader.due(
                          session,
                          IntStream.rangeClosed(PAUSED, HEALTHY)
                              .boxed()
                              .flatMap(handler -> due(handler).stream())
                              .toList())),
                  new Cost("placed of nobody", limits, reader.placed(session, limits(TOMORROW))),
                  new Cost("placed of many", limits, reader.placed(session, limits(PLACED))),
                  new Cost("types of the fresh", COUNTED, types(reader, session, 0)),
                  new Cost("types of the later", COUNTED, types(reader, session, 1)),
                  new Cost("types of the poisoned", COUNTED, types(reader, session, 2)),
                  new Cost("before a hot row", 2L * Ahead.MOST, reader.ahead(session, hot)),
                  // Each is looked for in three tables, and found in none or in two of them.
                  new Cost("before a free row", 3 * 50, reader.ahead(session, free)),
                  new Cost("before a blocked row", 3 * 50, reader.ahead(session, blocked)));
            });
    costs.forEach(
        each -> System.out.printf("%s: asked for %d, read %d%n", each.what, each.asked, each.read));
    assertThat(costs)
        .allSatisfy(
            each -> assertThat(each.read).as(each.what).isLessThanOrEqualTo(TIMES * each.asked));
    assertThat(costs)
        .as("the rows are there to be read")
        .filteredOn(each -> each.what.matches("fresh.*|due tomorrow.*|.* of many|before a hot row"))
        .allSatisfy(each -> assertThat(each.read).as(each.what).isGreaterThanOrEqualTo(each.asked));
  }

  private static long types(Reader reader, Session session, int place) throws SQLException {
    return reader.types(session, BoundedCounts.PLACES.get(place), COUNTED);
  }

  private static List<Range> ranges(int handler) {
    return cells(handler).stream().map(cell -> Range.after(cell, 0, LIMIT)).toList();
  }

  private static List<CellLimit> limits(int handler) {
    return cells(handler).stream().map(cell -> new CellLimit(cell, LIMIT)).toList();
  }

  private static List<DueRange> due(int handler) {
    return due(handler, null);
  }

  private static List<DueRange> due(int handler, @Nullable DuePosition after) {
    return cells(handler).stream().map(cell -> new DueRange(cell, LIMIT, after)).toList();
  }

  /** All that is due tomorrow is so at the same time: half of it stands behind this number. */
  private static DuePosition halfWay(Session session) throws SQLException {
    return session
        .one(
            "SELECT max(due_at) FROM {later} WHERE handler = " + TOMORROW,
            params -> {},
            row -> new DuePosition(session.time(row, 1), MANY + MANY / 2))
        .orElseThrow();
  }

  private static List<Cell> cells(int handler) {
    return IntStream.range(0, LANES).mapToObj(lane -> new Cell(lane, handler)).toList();
  }

  // ---- filling

  /** The servers know nothing of the growth: they counted when there was nothing. */
  private static Jdbc grown(TestDatabase database) throws SQLException {
    Schema.migrate(database.dataSource());
    fill(database);
    List.of("delivery", "later", "poison").forEach(table -> Costs.countEmpty(database, table));
    fill(database);
    return Costs.jdbc(database);
  }

  private static void fill(TestDatabase database) {
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    String tomorrow = postgres ? "now() + interval '1 day'" : "UTC_TIMESTAMP(6) + INTERVAL 1 DAY";
    String now = postgres ? "now()" : "UTC_TIMESTAMP(6)";
    insert(database, "delivery", "", "", PAUSED, MANY, LANE_OF_ROW, "NULL", 0);
    insert(
        database,
        "later",
        ", due_at, reason",
        ", " + tomorrow + ", 'retry'",
        TOMORROW,
        MANY,
        LANE_OF_ROW,
        "NULL",
        MANY);
    insert(database, "delivery", "", "", ORDERED, MANY, "0", "" + HOT_KEY, 2L * MANY);
    insert(
        database,
        "later",
        ", due_at, reason",
        ", NULL, 'blocked'",
        ORDERED,
        MANY,
        "0",
        "" + HOT_LATER,
        3L * MANY);
    insert(
        database,
        "poison",
        ", poisoned_at, failed_at, version, failures, crashes, releases, error_code, error_type,"
            + " error_text, fingerprint, stack",
        ", %1$s, %1$s, 1, 5, 0, 0, 'PH-HND-01', 'x', 'x', 'x', 'x'".formatted(now),
        ORDERED,
        BLOCKED_KEYS,
        LANE_OF_ROW,
        "1 + n",
        4L * MANY);
    insert(
        database,
        "later",
        ", due_at, reason",
        ", NULL, 'blocked'",
        ORDERED,
        BLOCKED_KEYS,
        LANE_OF_ROW,
        "1 + n",
        5L * MANY);
    insert(
        database,
        "later",
        ", due_at, place, reason",
        ", " + now + ", 1 + n, 'priority'",
        PLACED,
        MANY,
        LANE_OF_ROW,
        "NULL",
        7L * MANY);
    insert(database, "delivery", "", "", HEALTHY, 2_000, LANE_OF_ROW, "NULL", 6L * MANY);
  }

  private static void insert(
      TestDatabase database,
      String table,
      String columns,
      String values,
      int handler,
      int count,
      String lane,
      String key,
      long from) {
    String numbers =
        database.kind() == DatabaseKind.POSTGRES
            ? "generate_series(0, %d) AS n(n)".formatted(count - 1)
            : "(SELECT seq AS n FROM seq_0_to_%d) AS n".formatted(count - 1);
    database.execute(
        "INSERT INTO pigeonhole_%s (lane, handler, seq, key_id, key_hash%s) SELECT %s, %d, %d + n, 1, %s%s FROM %s"
            .formatted(table, columns, lane, handler, from + 1, key, values, numbers));
  }
}
