package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Range;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Rows travel as arrays, so a batch is one statement of constant text whatever its size.
 *
 * <p><b>Plans.</b> A plan that the server cached while a table was tiny reads the whole of it once
 * it is huge: 300,000 rows instead of ten, even with sequential scans, hash joins and merge joins
 * off. Every statement here that looks rows up therefore carries a prefix that also makes the
 * server plan anew, for its own transaction. The driver sends both in one round trip; without an
 * explicit transaction they share the implicit one. In a transaction of somebody else the settings
 * are put back behind the statement.
 *
 * <p>What is switched off adds 10^10 to the cost of a plan that cannot do without it, such as a
 * read of a table with ten rows. Before PostgreSQL 18 the server takes that for work, and compiles
 * a query for one row with all optimizations, which takes 50 to 200 ms. So {@code jit} is off, too.
 *
 * <p>A new plan is no better than what the server knows, and one that counted a table while it was
 * empty takes it to be empty until it counts again: it would walk through the whole index once, in
 * order, and compare each row with all that are named. So where an array is joined, the first
 * column of the index is compared with {@code = ANY (ARRAY[…])}, and columns of other indexes with
 * {@code + 0}: then no order of an index is of use, and all that is left is to look up one row
 * after another.
 */
final class PostgresStatements implements Statements {

  static final List<String> PLANNING =
      List.of("plan_cache_mode", "jit", "enable_seqscan", "enable_hashjoin", "enable_mergejoin");

  /** Set while the transaction goes on in which deliveries of known messages were added. */
  static final String ADDED = "pigeonhole.added";

  static final String NOTHING_ADDED = "coalesce(current_setting('" + ADDED + "', true), '') = ''";

  private static final String NOTE_ADDED = "SELECT set_config('" + ADDED + "', 'true', true)";

  private static final String TIME_LIMITS =
      "SELECT set_config('statement_timeout', '%d', true), set_config('lock_timeout', '%d', true)%s";

  static final String BY_INDEX =
      PLANNING.stream()
          .map(
              setting ->
                  "set_config('%s', '%s', true)"
                      .formatted(
                          setting, setting.equals("plan_cache_mode") ? "force_custom_plan" : "off"))
          .collect(Collectors.joining(", "));

  private static final String FENCE = TIME_LIMITS + ", " + BY_INDEX + ";\n";

  /**
   * For a lock whose transaction reads more in later statements: under a snapshot they would show
   * what was there before the lock. Setting the isolation that is set already does nothing; setting
   * another one is refused, because the transaction has begun.
   */
  private static final String FENCE_OF_LOCK =
      TIME_LIMITS
          + ", set_config('transaction_isolation', 'read committed', true), "
          + BY_INDEX
          + ";\n";

  private static final String HAS_BEGUN = "25001";

  /**
   * A bitmap would be of the whole index range, however few of its rows are wanted. And where a
   * table seems to be empty, all of it, sorted, seems as good as the first rows of the index that
   * has their order.
   */
  private static final String FENCE_IN_ORDER =
      TIME_LIMITS
          + ", "
          + BY_INDEX
          + ", set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);\n";

  private static final String FENCE_IN_FOREIGN_TRANSACTION =
      PLANNING.stream()
          .map(
              setting ->
                  "set_config('pigeonhole.%s', current_setting('%s'), true)"
                      .formatted(setting, setting))
          .collect(Collectors.joining(", ", "SELECT ", ", " + BY_INDEX));

  private static final String FENCE_DOWN =
      PLANNING.stream()
          .map(
              setting ->
                  "set_config('%s', current_setting('pigeonhole.%s'), true)"
                      .formatted(setting, setting))
          .collect(Collectors.joining(", ", ";\nSELECT ", ""));

  /**
   * For one row by all columns of its key: if it cannot read the whole table, the server has
   * nothing to choose, and may keep its plan.
   */
  private static final String FENCE_OF_ONE_IN_FOREIGN_TRANSACTION =
      """
      SELECT set_config('pigeonhole.enable_seqscan', current_setting('enable_seqscan'), true),
             set_config('enable_seqscan', 'off', true)""";

  private static final String FENCE_OF_ONE_DOWN =
      """
      ;
      SELECT set_config('enable_seqscan', current_setting('pigeonhole.enable_seqscan'), true)""";

  // Of a receipt that counts nothing changes, see Receipts.
  private static final String OVER_RUNNING =
      """
      ON CONFLICT (seq, handler) DO UPDATE
        SET key_id = EXCLUDED.key_id, completed_at = EXCLUDED.completed_at,
            failures = EXCLUDED.failures, crashes = EXCLUDED.crashes,
            releases = EXCLUDED.releases, token = 0, request_hash = NULL, outcome = %d
        WHERE r.%s"""
          .formatted(Receipts.COMPLETED, Receipts.IS_RUNNING);

  // Index: message_identity. In order of seq, so that two repeats never lock crosswise.
  private static final String LOCK_MESSAGES =
      """
      SELECT m.seq, m.source, m.id, m.lane, m.content_hash, m.received_at, m.token,
             m.last_repeat_at IS NULL OR m.last_repeat_at < {now} - interval '1 second', m.dropped,
             m.type, m.oldest_type
      FROM unnest(?::text[], ?::text[]) AS i(source, id)
      JOIN {message} m ON m.source = ANY (ARRAY[i.source]) AND m.id = i.id
      ORDER BY m.seq + 0
      FOR UPDATE OF m
      """;

  private static final String IS_NAMED_FRESH =
      "d.lane = ANY (ARRAY[i.lane]) AND d.handler = i.handler AND d.seq = i.seq"
          + " AND d.version = i.version";

  private static final String IS_NAMED_LATE =
      "d.seq = ANY (ARRAY[i.seq]) AND d.handler = i.handler AND d.lane + 0 = i.lane"
          + " AND d.version = i.version";

  // Which rows were hit is told only if some were not.
  private static final String COMPLETE =
      """
      WITH gone AS (
        DELETE FROM %s d
        USING unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[], ?::int[])
          AS i(lane, handler, seq, version, crashes)
        WHERE %s
        RETURNING d.seq, d.handler, d.key_id, d.failures, i.crashes, d.releases
      ), done AS (
        INSERT INTO {receipt} AS r (seq, handler, key_id, completed_at, failures, crashes, releases)
        SELECT seq, handler, key_id, {now}, failures, crashes, releases FROM gone
        %s
      )
      SELECT CASE WHEN hit.count < ? THEN ARRAY(SELECT handler FROM gone) END,
             CASE WHEN hit.count < ? THEN ARRAY(SELECT seq FROM gone) END
      FROM (SELECT count(*) AS count FROM gone) AS hit
      """;

  // Index: delivery_pk.
  private static final String COMPLETE_FRESH = COMPLETE.formatted("{delivery}", IS_NAMED_FRESH, "");

  // Index: later_pk.
  private static final String COMPLETE_LATE = COMPLETE.formatted("{later}", IS_NAMED_LATE, "");

  // Indexes: delivery_pk, receipt_pk as the arbiter.
  private static final String COMPLETE_FRESH_OVER_RUNNING =
      COMPLETE.formatted("{delivery}", IS_NAMED_FRESH, OVER_RUNNING);

  // Indexes: later_pk, receipt_pk as the arbiter.
  private static final String COMPLETE_LATE_OVER_RUNNING =
      COMPLETE.formatted("{later}", IS_NAMED_LATE, OVER_RUNNING);

  // One row of delivery, which has one index for it. A kept plan for later could be of the wrong
  // one, made while that table was empty.
  private static final String ONE =
      "WHERE d.lane = ? AND d.handler = ? AND d.seq = ? AND d.version = ?";

  // Index: delivery_pk; receipt_pk as the arbiter.
  private static final String COMPLETE_ONE =
      """
      WITH gone AS (
        DELETE FROM {delivery} d %s
        RETURNING d.seq, d.handler, d.key_id, d.failures, d.releases
      ), done AS (
        INSERT INTO {receipt} AS r (seq, handler, key_id, completed_at, failures, crashes, releases)
        SELECT seq, handler, key_id, {now}, failures, ?, releases FROM gone
        %s
      )
      SELECT handler, seq FROM gone
      """
          .formatted(ONE, OVER_RUNNING);

  // Index: delivery_pk or later_pk.
  private static final String TAKE =
      """
      DELETE FROM %s d
      USING unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[]) AS i(lane, handler, seq, version)
      WHERE %s
      RETURNING d.handler, d.seq
      """;

  private static final String TAKE_FRESH = TAKE.formatted("{delivery}", IS_NAMED_FRESH);
  private static final String TAKE_LATE = TAKE.formatted("{later}", IS_NAMED_LATE);

  // Index: delivery_pk or later_pk.
  private static final String OPEN =
      """
      SELECT d.handler, d.seq
      FROM unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[]) AS i(lane, handler, seq, version)
      JOIN %s d ON %s
      """;

  private static final String LOCK_OPEN = OPEN + "FOR UPDATE OF d%s";

  // Index: delivery_pk.
  private static final String LOCK_ONE = "SELECT 1 FROM {delivery} d " + ONE + " FOR UPDATE";

  // Index: delivery_pk, one range each.
  static final String FRESH =
      """
      SELECT d.seq, d.lane, d.handler, d.version, d.key_id, d.failures, d.crashes, d.releases,
             d.key_hash, d.mark
      FROM unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[], ?::int[]) WITH ORDINALITY
        AS r(lane, handler, beyond, up_to, most, n)
      CROSS JOIN LATERAL (
        SELECT * FROM {delivery} d
        WHERE d.lane = r.lane AND d.handler = r.handler AND d.seq > r.beyond AND d.seq <= r.up_to
        ORDER BY d.seq LIMIT r.most
      ) AS d
      ORDER BY r.n, d.seq
      """;

  // Index: later_due, from a position of each cell on; one row more than asked for tells what is
  // next. The comparison of rows is where the scan begins: together with one of the times alone, it
  // would begin with the first of all that share this time.
  static final String DUE =
      """
      WITH clock AS MATERIALIZED (SELECT {now} AS now)
      SELECT d.seq, d.lane, d.handler, d.version, d.key_id, d.failures, d.crashes, d.releases,
             d.key_hash, d.mark, d.due_at, clock.now
      FROM clock
      CROSS JOIN unnest(?::int[], ?::int[], ?::int[], ?::timestamptz[], ?::bigint[])
        AS r(lane, handler, most, after_at, after_seq)
      CROSS JOIN LATERAL (
        SELECT * FROM {later} d
        WHERE d.lane = r.lane AND d.handler = r.handler AND d.place = 0
          AND (d.due_at, d.seq) > (r.after_at, r.after_seq)
        ORDER BY d.due_at, d.seq LIMIT r.most + 1
      ) AS d
      ORDER BY d.due_at, d.seq
      """;

  // Index: later_due, from the first place of each cell.
  static final String PLACED =
      """
      SELECT d.seq, d.lane, d.handler, d.version, d.key_id, d.failures, d.crashes, d.releases,
             d.key_hash, d.mark, d.place
      FROM unnest(?::int[], ?::int[], ?::int[]) AS r(lane, handler, most)
      CROSS JOIN LATERAL (
        SELECT * FROM {later} d
        WHERE d.lane = r.lane AND d.handler = r.handler AND d.place > 0
        ORDER BY d.place, d.due_at, d.seq LIMIT r.most
      ) AS d
      ORDER BY d.place, d.seq
      """;

  // Indexes: delivery_key, later_key, poison_key, closed_key_pk. A plain comparison with key and
  // lane would let the server walk along a primary key instead, if its statistics are old: through
  // everything that waits. This one is a range of those indexes alone, and sorted like them.
  static final String AHEAD =
      """
      SELECT d.seq, d.lane, d.handler, d.version, d.key_id, d.failures, d.crashes, d.releases,
             d.key_hash, d.mark, 'd'
      FROM unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[]) AS k(lane, handler, key_hash, top)
      CROSS JOIN LATERAL (
        SELECT * FROM {delivery} d
        WHERE d.handler = k.handler AND d.key_hash >= k.key_hash
          AND (d.key_hash, d.seq) < (k.key_hash, k.top) AND d.lane + 0 = k.lane
        ORDER BY d.key_hash, d.seq LIMIT %1$d
      ) AS d
      UNION ALL
      SELECT d.seq, d.lane, d.handler, d.version, d.key_id, d.failures, d.crashes, d.releases,
             d.key_hash, d.mark, 'l'
      FROM unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[]) AS k(lane, handler, key_hash, top)
      CROSS JOIN LATERAL (
        SELECT * FROM {later} d
        WHERE d.handler = k.handler AND d.key_hash >= k.key_hash
          AND (d.key_hash, d.seq) < (k.key_hash, k.top) AND d.lane + 0 = k.lane
        ORDER BY d.key_hash, d.seq LIMIT %1$d
      ) AS d
      UNION ALL
      SELECT p.seq, k.lane, k.handler, 0, 0, 0, 0, 0, k.key_hash, 0, 'p'
      FROM unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[]) AS k(lane, handler, key_hash, top)
      CROSS JOIN LATERAL (
        SELECT p.seq FROM {poison} p
        WHERE p.handler = k.handler AND (p.key_hash, p.blocks, p.seq) >= (k.key_hash, TRUE, 0)
          AND (p.key_hash, p.blocks, p.seq) < (k.key_hash, TRUE, k.top)
        ORDER BY p.key_hash, p.blocks, p.seq LIMIT 1
      ) AS p
      UNION ALL
      SELECT c.seq, k.lane, k.handler, 0, 0, 0, 0, 0, k.key_hash, 0, 'p'
      FROM unnest(?::int[], ?::int[], ?::bigint[], ?::bigint[]) AS k(lane, handler, key_hash, top)
      JOIN {closed_key} c
        ON c.handler = ANY (ARRAY[k.handler]) AND c.key_hash = k.key_hash AND c.seq < k.top
      UNION ALL
      SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 's' WHERE %2$s
      """
          .formatted(Ahead.MOST, PostgresDialect.IS_STANDBY);

  @Override
  public boolean insertsInOneStatement() {
    return true;
  }

  @Override
  public Inserted insert(Session session, List<NewMessage> messages, long token)
      throws SQLException {
    return PostgresInsert.insert(session, messages, token);
  }

  @Override
  public List<Known> lock(Session session, List<MessageRef> identities) throws SQLException {
    return locking(
        session,
        LOCK_MESSAGES,
        params -> {
          params.array("text", identities.stream().map(MessageRef::source).toArray(String[]::new));
          params.array("text", identities.stream().map(MessageRef::id).toArray(String[]::new));
        },
        row -> Known.of(session, row));
  }

  @Override
  public Set<MessageRef> held(Session session, List<MessageRef> identities) throws SQLException {
    return HeldIdentities.onPostgres(session, identities);
  }

  @Override
  public <T> List<T> guarded(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return fenced(session, statement, bind, mapper);
  }

  /** In a transaction of a caller whatever was added under a lock has changed the row as well. */
  @Override
  public <T> List<T> locking(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    if (session.foreign) {
      return fenced(session, statement, bind, mapper);
    }
    try {
      return session.queryNth(
          limits(session, FENCE_OF_LOCK) + session.sql(statement), 1, bind, mapper);
    } catch (SQLException e) {
      if (HAS_BEGUN.equals(Errors.root(e).getSQLState())) {
        throw new OtherIsolationException(e);
      }
      throw e;
    }
  }

  @Override
  public <T> List<T> firstRows(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return inOrder(session, statement, bind, mapper);
  }

  /** One select, which the server plans once and not for each cell. */
  @Override
  public List<String> ofEachCell(List<Cell> cells, String select) {
    String values =
        cells.stream()
            .map(cell -> "(%d, %d)".formatted(cell.lane(), cell.handler()))
            .collect(Collectors.joining(", "));
    String ofCell = select.replace(":lane", "c.lane").replace(":handler", "c.handler");
    return List.of(
        "SELECT r.* FROM (VALUES %s) AS c (lane, handler) CROSS JOIN LATERAL (%s) AS r"
            .formatted(values, ofCell));
  }

  @Override
  public <T> List<T> bySeqs(
      Session session, String template, Collection<Long> seqs, Session.Mapper<T> mapper)
      throws SQLException {
    return fenced(
        session,
        template.replace(":seqs", "= ANY (?::bigint[])"),
        params -> params.array("int8", seqs.toArray(Long[]::new)),
        mapper);
  }

  @Override
  public void noteAdded(Session session) throws SQLException {
    session.one(NOTE_ADDED, params -> {}, row -> true);
  }

  @Override
  public boolean completesInOneStatement() {
    return true;
  }

  @Override
  public Set<Delivery> complete(Session session, List<Delivery> deliveries) throws SQLException {
    return Named.hits(deliveries, (named, late) -> complete(session, named, late));
  }

  /**
   * To be ready for a receipt that counts nothing costs a look-up and a log record for each row,
   * and such receipts are left by accidents only. So a statement that commits itself finds out; in
   * a longer transaction it would be too late then.
   */
  private static void complete(Session session, Named named, boolean late) throws SQLException {
    if (session.committing) {
      try {
        complete(session, late ? COMPLETE_LATE : COMPLETE_FRESH, named, late);
        return;
      } catch (SQLException e) {
        if (session.dialect.fault(e) != Fault.DUPLICATE) {
          throw e;
        }
      }
    }
    if (isOne(session, named.part(late))) {
      Delivery one = named.part(late).get(0);
      fencedOne(
          session,
          COMPLETE_ONE,
          params -> Named.bind(params, one).add(one.crashes()),
          row -> named.hit(late, row.getInt(1), row.getLong(2)));
      return;
    }
    complete(session, late ? COMPLETE_LATE_OVER_RUNNING : COMPLETE_FRESH_OVER_RUNNING, named, late);
  }

  /** A transactional handler that shares no commit: the arrays would cost more than its row. */
  private static boolean isOne(Session session, List<Delivery> part) {
    return session.foreign && part.size() == 1 && !part.get(0).late();
  }

  private static void complete(Session session, String statement, Named named, boolean late)
      throws SQLException {
    List<Delivery> part = named.part(late);
    fenced(
        session,
        statement,
        params -> {
          bindNames(params, part);
          params.array("int4", part.stream().map(Delivery::crashes).toArray(Integer[]::new));
          params.add(part.size()).add(part.size());
        },
        row -> {
          readHits(row, named, late);
          return named;
        });
  }

  private static void readHits(ResultSet row, Named named, boolean late) throws SQLException {
    Array handlers = row.getArray(1);
    if (handlers == null) {
      named.hitAll(late);
      return;
    }
    Integer[] handler = (Integer[]) handlers.getArray();
    Long[] seq = (Long[]) row.getArray(2).getArray();
    for (int i = 0; i < handler.length; i++) {
      named.hit(late, handler[i], seq[i]);
    }
  }

  @Override
  public void receipts(Session session, List<Delivery> completed) throws SQLException {
    String insert = Receipts.INSERT.replace("{receipt}", "{receipt} AS r");
    session.insert(insert, Receipts.ROW, " " + OVER_RUNNING, completed, Receipts::bind);
  }

  @Override
  public Set<Delivery> take(Session session, List<Delivery> deliveries) throws SQLException {
    return named(session, deliveries, TAKE_FRESH, TAKE_LATE);
  }

  @Override
  public Set<Delivery> lock(Session session, List<Delivery> deliveries, boolean skipLocked)
      throws SQLException {
    String skip = skipLocked ? " SKIP LOCKED" : "";
    if (isOne(session, deliveries)) {
      Delivery one = deliveries.get(0);
      return fencedOne(session, LOCK_ONE + skip, params -> Named.bind(params, one), row -> true)
              .isEmpty()
          ? Set.of()
          : Set.of(one);
    }
    return named(
        session,
        deliveries,
        LOCK_OPEN.formatted("{delivery}", IS_NAMED_FRESH, skip),
        LOCK_OPEN.formatted("{later}", IS_NAMED_LATE, skip));
  }

  @Override
  public Set<Delivery> there(Session session, List<Delivery> deliveries) throws SQLException {
    return named(
        session,
        deliveries,
        OPEN.formatted("{delivery}", IS_NAMED_FRESH),
        OPEN.formatted("{later}", IS_NAMED_LATE));
  }

  private static Set<Delivery> named(
      Session session, List<Delivery> deliveries, String ofFresh, String ofLate)
      throws SQLException {
    return Named.hits(
        deliveries,
        (named, late) ->
            fenced(
                session,
                late ? ofLate : ofFresh,
                params -> bindNames(params, named.part(late)),
                row -> named.hit(late, row.getInt(1), row.getLong(2))));
  }

  private static void bindNames(Params params, List<Delivery> part) throws SQLException {
    params.array("int4", part.stream().map(each -> each.cell().lane()).toArray(Integer[]::new));
    params.array("int4", part.stream().map(each -> each.cell().handler()).toArray(Integer[]::new));
    params.array("int8", part.stream().map(Delivery::seq).toArray(Long[]::new));
    params.array("int8", part.stream().map(Delivery::version).toArray(Long[]::new));
  }

  @Override
  public List<Delivery> fresh(Session session, List<Range> ranges) throws SQLException {
    return fenced(
        session, FRESH, params -> bindRanges(params, ranges), row -> Session.delivery(row, false));
  }

  static void bindRanges(Params params, List<Range> ranges) throws SQLException {
    bindCells(params, ranges.stream().map(Range::cell).toList());
    params.array("int8", ranges.stream().map(Range::after).toArray(Long[]::new));
    params.array("int8", ranges.stream().map(Range::upTo).toArray(Long[]::new));
    params.array("int4", ranges.stream().map(Range::limit).toArray(Integer[]::new));
  }

  private static void bindCells(Params params, List<Cell> cells) throws SQLException {
    params.array("int4", cells.stream().map(Cell::lane).toArray(Integer[]::new));
    params.array("int4", cells.stream().map(Cell::handler).toArray(Integer[]::new));
  }

  @Override
  public DueRead due(Session session, List<DueRange> ranges) throws SQLException {
    DueRows due = new DueRows(ranges);
    inOrder(session, DUE, params -> bindDue(params, ranges), row -> due.add(row, session));
    return due.read();
  }

  static void bindDue(Params params, List<DueRange> ranges) throws SQLException {
    bindCells(params, ranges.stream().map(DueRange::cell).toList());
    params.array("int4", ranges.stream().map(DueRange::limit).toArray(Integer[]::new));
    String[] times = new String[ranges.size()];
    Long[] seqs = new Long[ranges.size()];
    for (int i = 0; i < times.length; i++) {
      DuePosition after = ranges.get(i).after();
      times[i] = after == null ? "-infinity" : after.dueAt().toString();
      seqs[i] = after == null ? 0L : after.seq();
    }
    params.array("text", times);
    params.array("int8", seqs);
  }

  static void bindLimits(Params params, List<CellLimit> cells) throws SQLException {
    bindCells(params, cells.stream().map(CellLimit::cell).toList());
    params.array("int4", cells.stream().map(CellLimit::limit).toArray(Integer[]::new));
  }

  @Override
  public List<Delivery> placed(Session session, List<CellLimit> cells) throws SQLException {
    return inOrder(session, PLACED, params -> bindLimits(params, cells), Session::placed);
  }

  @Override
  public AheadRead ahead(Session session, List<Ahead> rows) throws SQLException {
    AheadRows ahead = new AheadRows(rows);
    List<Ahead> keys = ahead.highestOfKeys();
    inOrder(session, AHEAD, params -> bindAhead(params, keys), ahead::add);
    return ahead.read();
  }

  static void bindAhead(Params params, List<Ahead> keys) throws SQLException {
    for (int table = 0; table < 4; table++) {
      bindKeys(params, keys);
    }
  }

  private static void bindKeys(Params params, List<Ahead> keys) throws SQLException {
    bindCells(params, keys.stream().map(Ahead::cell).toList());
    params.array("int8", keys.stream().map(Ahead::keyHash).toArray(Long[]::new));
    params.array("int8", keys.stream().map(Ahead::seq).toArray(Long[]::new));
  }

  /** A server in an aborted transaction refuses the settling statement itself. */
  @Override
  public Canary canary(Session session) {
    return () -> true;
  }

  /** Locking the row has given the transaction its number. */
  @Override
  public Canary strictCanary(Session session) throws SQLException {
    String first = transaction(session);
    return () -> first.equals(transaction(session));
  }

  private static String transaction(Session session) throws SQLException {
    return session
        .query(
            "SELECT pg_current_xact_id()::text",
            params -> {},
            row -> String.valueOf(row.getString(1)))
        .get(0);
  }

  /** Runs a statement that has nothing to look up. */
  static <T> List<T> limited(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    if (session.foreign) {
      return session.query(statement, bind, mapper);
    }
    return session.queryNth(
        limits(session, TIME_LIMITS) + ";\n" + session.sql(statement), 1, bind, mapper);
  }

  /** Runs a statement that must find its rows by index, however large its tables have become. */
  static <T> List<T> fenced(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    String text =
        session.foreign
            ? FENCE_IN_FOREIGN_TRANSACTION
                + silence(session)
                + ";\n"
                + session.sql(statement)
                + FENCE_DOWN
            : limits(session, FENCE) + session.sql(statement);
    return session.queryNth(text, 1, bind, mapper);
  }

  /** The same for one row by its whole key, in foreign sessions. */
  static <T> List<T> fencedOne(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    String text =
        FENCE_OF_ONE_IN_FOREIGN_TRANSACTION
            + silence(session)
            + ";\n"
            + session.sql(statement)
            + FENCE_OF_ONE_DOWN;
    return session.queryNth(text, 1, bind, mapper);
  }

  /** The same for one that wants the first rows of long index ranges. Not in foreign sessions. */
  static <T> List<T> inOrder(
      Session session, String statement, Session.Bind bind, Session.Mapper<T> mapper)
      throws SQLException {
    return session.queryNth(
        limits(session, FENCE_IN_ORDER) + session.sql(statement), 1, bind, mapper);
  }

  static String limits(Session session, String prefix) {
    return prefix.formatted(
        session.lockWait.statement.toMillis(), session.lockWait.millis, silence(session));
  }

  /** What the first statement of a transaction sets besides. */
  private static String silence(Session session) {
    Duration silence = session.takeSilence();
    return silence == null ? "" : ", " + PostgresDialect.silence(silence);
  }
}
