package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What operators ask costs what they are shown, not what waits. Numbers of fresh, scheduled, due,
 * blocked and placed deliveries take turns, each for a handler of its own; a few more are due, and
 * older than all of them.
 */
class AdminCostTest {
  private static final int MANY =
      "full".equals(System.getProperty("pigeonhole.size")) ? 100_000 : 20_000;
  private static final int FEW = 50;
  private static final int LANES = 64;
  private static final int LIMIT = 21;
  private static final long FIRST = 1_000;

  /** The handlers with many deliveries, in the order in which their numbers take turns. */
  private static final List<String> HANDLERS =
      List.of("fresh", "tomorrow", "due", "blocked", "placed");

  private static final int CELLS = LANES * (HANDLERS.size() + 1);

  private Parts parts;
  private Jdbc jdbc;
  private TestDatabase database;

  /** A question, and the numbers of the rows that answer it. */
  private record Asked(
      String what,
      DeliveryState state,
      @Nullable String handler,
      Slice slice,
      List<Long> expected) {}

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aPageCostsWhatItShows(TestDatabase empty) throws SQLException {
    fill(empty);
    long middle = number(MANY / 2, "fresh");
    List<Asked> questions =
        List.of(
            new Asked(
                "pending",
                DeliveryState.PENDING,
                null,
                newest(null),
                backwards(MANY - 1, "placed", "due", "fresh")),
            new Asked(
                "fresh",
                DeliveryState.PENDING,
                "fresh",
                newest(null),
                backwards(MANY - 1, "fresh")),
            new Asked(
                "fresh, later pages",
                DeliveryState.PENDING,
                "fresh",
                newest(new Place(middle, family("fresh"))),
                backwards(MANY / 2 - 1, "fresh")),
            new Asked(
                "fresh, upwards",
                DeliveryState.PENDING,
                "fresh",
                new Slice(new Place(middle, family("fresh")), true, LIMIT),
                LongStream.rangeClosed(1, LIMIT)
                    .mapToObj(n -> number(MANY / 2 + n, "fresh"))
                    .toList()),
            new Asked(
                "scheduled",
                DeliveryState.SCHEDULED,
                "tomorrow",
                newest(null),
                backwards(MANY - 1, "tomorrow")),
            new Asked(
                "blocked",
                DeliveryState.BLOCKED,
                "blocked",
                newest(new Place(number(MANY / 2, "blocked"), family("blocked"))),
                backwards(MANY / 2 - 1, "blocked")),
            new Asked(
                "many due",
                DeliveryState.PENDING,
                "due",
                newest(new Place(middle, 1)),
                backwards(MANY / 2 - 1, "due")),
            new Asked(
                "few due",
                DeliveryState.PENDING,
                "few",
                newest(null),
                LongStream.range(0, LIMIT).mapToObj(n -> FEW - n).toList()),
            new Asked("nothing", DeliveryState.SCHEDULED, "few", newest(null), List.of()));
    for (Asked each : questions) {
      assertThat(parts.admin().deliveries(filter(each), each.slice()))
          .as(each.what())
          .extracting(row -> row.place().seq())
          .isEqualTo(each.expected());
      if (database.kind() != DatabaseKind.H2) {
        long read = read(filter(each), each.slice());
        System.out.printf("%s, %s: read %d%n", database.kind(), each.what(), read);
        // MariaDB counts the rows of its temporary tables as well, and reads each of them thrice.
        assertThat(read)
            .as("rows read for %s", each.what())
            .isLessThanOrEqualTo(
                (database.kind() == DatabaseKind.MARIADB ? 4L : 1L) * CELLS * LIMIT);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void howFarBehindAHandlerIsCostsTheFirstRowsOfItsCells(TestDatabase empty) throws SQLException {
    fill(empty);

    Map<String, Long> hours = new TreeMap<>();
    for (HandlerLag each : parts.admin().lag()) {
      assertThat(each.oldest().isPresent()).isEqualTo(!each.lag().isZero());
      hours.put(each.handler(), each.lag().toHours());
    }

    assertThat(hours)
        .isEqualTo(
            Map.of("fresh", 1L, "tomorrow", 0L, "due", 1L, "blocked", 0L, "placed", 1L, "few", 2L));
    for (String handler : hours.keySet()) {
      long read = readForLag(handler);
      System.out.printf("%s, lag of %s: read %d%n", database.kind(), handler, read);
      // The first of each cell, or the next in line; MariaDB counts its temporary table as well.
      assertThat(read).as("rows read for %s", handler).isLessThan(3 * 16 * LANES);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aBoundedCountReadsNoFurtherThanItsBound(TestDatabase empty) throws SQLException {
    fill(empty);
    int bound = 1_000;

    assertThat(parts.admin().counts(bound))
        .extracting(each -> each.handler() + ": " + each.pending() + ", " + each.scheduled())
        .containsExactlyInAnyOrder(
            "fresh: 1,000+, 0",
            "tomorrow: 0, 1,000+",
            "due: 1,000+, 0",
            "blocked: 0, 0",
            "placed: 1,000+, 0",
            "few: 50, 0");
    for (String handler : HANDLERS) {
      long read =
          jdbc.read(
              session -> {
                String lanes = AdminCounts.lanes(session);
                String text =
                    AdminCounts.ofFamily(session, family(handler), lanes, session.now(), bound);
                return read(session, text, params -> {});
              });
      System.out.printf("%s, count of %s: read %d%n", database.kind(), handler, read);
      assertThat(read).as("rows read for %s", handler).isLessThan(4L * bound);
    }
  }

  private long readForLag(String handler) {
    Statements statements = jdbc.dialect.statements();
    int family = family(handler);
    return jdbc.read(
        session -> {
          List<Cell> cells =
              IntStream.range(0, LANES).mapToObj(lane -> new Cell(lane, family)).toList();
          String text = AdminLag.late(session, statements, cells);
          return read(session, text, params -> {});
        });
  }

  private long read(Session session, String text, Session.Bind bind) throws SQLException {
    Statements statements = jdbc.dialect.statements();
    return database.kind() == DatabaseKind.POSTGRES
        ? Costs.explain(session, PostgresStatements::inOrder, text, bind)
        : Costs.counted(session, () -> statements.firstRows(session, text, bind, row -> 1));
  }

  private static Slice newest(@Nullable Place after) {
    return new Slice(after, false, LIMIT);
  }

  /** The numbers of a page that begins at this turn, those of one turn in this order. */
  private static List<Long> backwards(int turn, String... handlers) {
    return IntStream.range(0, LIMIT)
        .mapToObj(i -> number(turn - i / handlers.length, handlers[i % handlers.length]))
        .toList();
  }

  private static long number(long turn, String handler) {
    return FIRST + turn * HANDLERS.size() + HANDLERS.indexOf(handler);
  }

  private int family(String handler) {
    return parts.maintenance().handlers().stream()
        .filter(each -> each.key().equals(handler))
        .mapToInt(HandlerId::family)
        .findFirst()
        .orElseThrow();
  }

  private DeliveryFilter filter(Asked asked) {
    String handler = asked.handler();
    return new DeliveryFilter(
        Set.of(asked.state()),
        handler == null ? null : Set.of(family(handler)),
        null,
        null,
        null,
        null,
        null,
        null,
        null);
  }

  private long read(DeliveryFilter filter, Slice slice) {
    Statements statements = jdbc.dialect.statements();
    return jdbc.read(
        session -> {
          DeliveryQuery.Page page = new DeliveryQuery(session, statements, filter).page(slice);
          return read(session, page.text(), page.bind());
        });
  }

  // ---- filling

  private void fill(TestDatabase empty) throws SQLException {
    database = empty;
    Schema.migrate(database.dataSource());
    DataSource pool = database.pool(6);
    parts = Parts.connect(pool, database.dataSource(), null, "pigeonhole_", null, false, null);
    try (Connection connection = pool.getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      String schema = dialect.currentSchema(connection);
      jdbc = new Jdbc(pool, dialect, new Tables(dialect.quote(), schema, "pigeonhole_"), null);
    }
    parts.maintenance().open(new StoreSettings("shop", LANES, 4, 1 << 20));
    parts
        .maintenance()
        .register(
            Stream.concat(HANDLERS.stream(), Stream.of("few")).map(key -> List.of(key)).toList());
    for (String handler : HANDLERS) {
      messages(MANY, turn(handler));
    }
    messages(FEW, "1 + n");
    deliveries("delivery", "fresh", MANY, turn("fresh"), "", "");
    later("tomorrow", MANY, turn("tomorrow"), hours(24), "0");
    later("due", MANY, turn("due"), hours(-1), "0");
    later("blocked", MANY, turn("blocked"), "NULL", "0");
    later("placed", MANY, turn("placed"), hours(-1), "1700000000000000 + n");
    later("few", FEW, "1 + n", hours(-2), "0");
  }

  /** The n-th number of this handler. */
  private static String turn(String handler) {
    return number(0, handler) + " + n * " + HANDLERS.size();
  }

  private String hours(int hours) {
    return switch (database.kind()) {
      case POSTGRES -> "now() + interval '%d hours'".formatted(hours);
      case MARIADB -> "UTC_TIMESTAMP(6) + INTERVAL %d HOUR".formatted(hours);
      case H2 -> "DATEADD(HOUR, %d, CURRENT_TIMESTAMP(6))".formatted(hours);
    };
  }

  private void messages(int count, String seq) {
    String hash =
        database.kind() == DatabaseKind.POSTGRES
            ? "'\\x00112233445566778899aabbccddeeff'::bytea"
            : "X'00112233445566778899aabbccddeeff'";
    database.execute(
        "INSERT INTO %s (seq, token, received_at, lane, source, id, type, channel, transport, content_type, content_hash, headers) SELECT %s, 0, %s, MOD(n, %d), 'grown', CONCAT('g', %s), 't', 'c', 'l', 'x', %s, %s FROM %s"
            .formatted(table("message"), seq, hours(-1), LANES, seq, hash, hash, numbers(count)));
  }

  private void later(String handler, int count, String seq, String due, String place) {
    String values = ", %s, %s, 'x'".formatted(due, place);
    deliveries("later", handler, count, seq, ", due_at, place, reason", values);
  }

  private void deliveries(
      String table, String handler, int count, String seq, String columns, String values) {
    database.execute(
        "INSERT INTO %s (lane, handler, seq, key_id%s) SELECT MOD(n, %d), %d, %s, %d%s FROM %s"
            .formatted(
                table(table),
                columns,
                LANES,
                family(handler),
                seq,
                family(handler),
                values,
                numbers(count)));
  }

  private String table(String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + "pigeonhole_" + name + quote;
  }

  private String numbers(int count) {
    return switch (database.kind()) {
      case POSTGRES -> "generate_series(0, %d) AS n(n)".formatted(count - 1);
      case MARIADB -> "(SELECT seq AS n FROM seq_0_to_%d) AS n".formatted(count - 1);
      case H2 -> "(SELECT X AS n FROM SYSTEM_RANGE(0, %d)) AS n".formatted(count - 1);
    };
  }
}
