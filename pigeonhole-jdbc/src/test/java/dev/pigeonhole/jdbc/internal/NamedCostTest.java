package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rows that are named cost what they are, not what waits beside them, also while the server
 * believes that nothing waits: it counted when the tables were empty, which between two bursts they
 * are.
 */
class NamedCostTest {
  private static final int WAITING = 20_000;
  private static final int NAMED = 200;
  private static final int LANES = 64;
  private static final int HANDLER = 1;

  /** As ranges end: the first row behind each may be looked at. */
  private static final int TIMES = 4;

  /** Something that names rows, and answers how many it found. */
  private interface Naming {
    int run(Session session) throws SQLException;
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void namedRowsCostWhatTheyAre(DatabaseKind kind) throws SQLException {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Jdbc jdbc = filledAfterItWasCounted(database);
      Statements statements = jdbc.dialect.statements();
      check(jdbc, "message", session -> statements.lock(session, messages()).size());
      check(jdbc, "closed_key", session -> statements.ahead(session, keys()).blocked().size());
      check(jdbc, "delivery", session -> NAMED - missing(session).size());
      for (boolean late : new boolean[] {false, true}) {
        String table = late ? "later" : "delivery";
        List<Delivery> rows = deliveries(late);
        check(jdbc, table, session -> statements.lock(session, rows, false).size());
        check(jdbc, table, session -> statements.lock(session, rows, true).size());
        check(jdbc, table, session -> statements.take(session, rows).size());
        check(jdbc, table, session -> statements.complete(session, rows).size());
      }
    }
  }

  private static void check(Jdbc jdbc, String table, Naming naming) throws SQLException {
    try (Jdbc.Borrowed transaction = jdbc.begin()) {
      Session session = transaction.session(false, Session.LockWait.NORMAL);
      long read =
          Costs.read(
              session,
              table,
              () -> assertThat(naming.run(session)).as("found in %s", table).isEqualTo(NAMED));
      assertThat(read).as("rows read of %s", table).isBetween((long) NAMED, (long) TIMES * NAMED);
      session.connection.rollback();
    }
  }

  /** What a repeat asks before it adds a delivery. */
  private static List<Long> missing(Session session) throws SQLException {
    String rows =
        chosen()
            .mapToObj(n -> "(%d, %d, %d)".formatted(n % LANES, HANDLER, n))
            .collect(Collectors.joining(", "));
    String where = Gate.STANDS_NOWHERE.replace(":same", "= w.handler");
    return session
        .dialect
        .statements()
        .guarded(
            session,
            "WITH w (lane, handler, seq) AS (VALUES %s) SELECT w.seq FROM w %s"
                .formatted(rows, where),
            params -> {},
            row -> row.getLong(1));
  }

  private static List<Ahead> keys() {
    return chosen()
        .mapToObj(n -> new Ahead(new Cell(n % LANES, HANDLER), n, Long.MAX_VALUE))
        .toList();
  }

  private static List<MessageRef> messages() {
    return chosen().mapToObj(n -> new MessageRef("s", "m" + n)).toList();
  }

  private static List<Delivery> deliveries(boolean late) {
    int first = late ? WAITING : 0;
    return chosen()
        .mapToObj(
            n ->
                new Delivery(new Cell(n % LANES, HANDLER), first + n, 0, 1, 0, 0, 0, null, 0, late))
        .toList();
  }

  /** Spread over all that waits. */
  private static IntStream chosen() {
    return IntStream.range(0, NAMED).map(n -> n * (WAITING / NAMED));
  }

  // ---- filling

  private static Jdbc filledAfterItWasCounted(TestDatabase database) throws SQLException {
    Schema.migrate(database.dataSource());
    fill(database);
    for (String table : List.of("message", "delivery", "later", "closed_key")) {
      Costs.countEmpty(database, table);
    }
    fill(database);
    return Costs.jdbc(database);
  }

  private static void fill(TestDatabase database) {
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    String now = postgres ? "now()" : "UTC_TIMESTAMP(6)";
    insert(
        database,
        "message (seq, token, received_at, lane, source, id, type, channel, transport,"
            + " content_type, content_hash, headers)",
        "n, 1, %s, MOD(n, %d), 's', CONCAT('m', n), 't', 'c', '', '', '', ''"
            .formatted(now, LANES));
    insert(
        database,
        "delivery (lane, handler, seq, key_id)",
        "MOD(n, %d), %d, n, 1".formatted(LANES, HANDLER));
    insert(
        database,
        "later (lane, handler, seq, key_id, due_at, reason)",
        "MOD(n, %d), %d, %d + n, 1, %s, 'retry'".formatted(LANES, HANDLER, WAITING, now));
    insert(
        database,
        "closed_key (seq, key_hash, since, handler, key_id, releasing)",
        "n, n, %s, %d, 1, false".formatted(now, HANDLER));
  }

  private static void insert(TestDatabase database, String into, String values) {
    database.execute(
        "INSERT INTO pigeonhole_%s SELECT %s FROM %s".formatted(into, values, numbers(database)));
  }

  private static String numbers(TestDatabase database) {
    return database.kind() == DatabaseKind.POSTGRES
        ? "generate_series(0, %d) AS n(n)".formatted(WAITING - 1)
        : "(SELECT seq AS n FROM seq_0_to_%d) AS n".formatted(WAITING - 1);
  }
}
