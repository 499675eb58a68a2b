package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Nodes;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * Nodes and cells. Whoever changes what a node owns holds the row of that node first: a node that
 * is being declared dead can no longer take a cell that nobody would ever free again.
 */
final class JdbcNodes implements Nodes {

  /** Nodes of one JVM share an embedded database, and only they can. */
  private static final String JVM = UUID.randomUUID().toString();

  private static final int RANDOM_BITS = 31;

  private static final Duration REMEMBERED = Duration.ofDays(1);
  private static final String ALIVE = "state IN ('LIVE', 'STOPPING')";

  private static final String JOIN =
      """
      INSERT INTO {node} (incarnation, beat, joined_at, state, name, jvm, handlers)
      VALUES (?, 0, {now}, 'LIVE', ?, ?, ?)
      """;

  // Index: handler_pk. A family bears the number of its first key.
  private static final String LOCK_HANDLERS =
      "SELECT key_id FROM {handler} WHERE key_id IN (:handlers) ORDER BY key_id FOR UPDATE";

  private static final String LANES = "SELECT lanes FROM {inbox} WHERE id = 1";

  // Index: node_pk.
  private static final String BEAT =
      "UPDATE {node} SET beat = beat + 1 WHERE incarnation = ? AND beat >= ? AND " + ALIVE;

  private static final String NODES =
      """
      SELECT incarnation, name, state, beat, handlers FROM {node}
      WHERE ended_at IS NULL OR ended_at > ?
      ORDER BY incarnation
      """;

  private static final String OLD_NODES = "SELECT incarnation FROM {node} WHERE ended_at < ?";

  // By key: MariaDB would wait for each row that it reads on its way, also for that of a live node.
  private static final String FORGET = "DELETE FROM {node} WHERE incarnation = ?";

  private static final String OTHER_JVMS =
      "SELECT incarnation FROM {node} WHERE jvm <> ? AND " + ALIVE;

  private static final String END =
      "UPDATE {node} SET state = ?, ended_at = {now} WHERE incarnation = ? AND " + ALIVE;

  private static final String LOCK_NODE =
      "SELECT state, {now} FROM {node} WHERE incarnation = ? FOR UPDATE";

  // A process that is paused in a transaction has locked its row. A node that waits for it sends no
  // heartbeat meanwhile.
  private static final String LOCK_SILENT =
      "SELECT beat FROM {node} WHERE incarnation = ? AND " + ALIVE + " FOR UPDATE SKIP LOCKED";

  private static final String OWNED = "SELECT lane, handler FROM {lane} WHERE owner = ?";
  private static final String LOCK_OWNED = OWNED + " FOR UPDATE SKIP LOCKED";

  // A few rows per handler: every cell is looked at.
  private static final String FREE_UNCLEAN =
      "UPDATE {lane} SET owner = 0, token = token + 1, unclean = TRUE WHERE owner = ?";

  private static final String FREE = "UPDATE {lane} SET owner = 0, unclean = FALSE WHERE owner = ?";

  // Index: lane_pk.
  private static final String CELLS =
      """
      SELECT lane, handler, owner, token, unclean FROM {lane}
      WHERE handler IN (:handlers)
      ORDER BY handler, lane
      """;

  // A process that stands still while it takes some must not keep others from taking the rest.
  private static final String LOCK_FREE_CELLS =
      """
      SELECT lane, handler, owner, token, unclean FROM {lane}
      WHERE owner = 0 AND (:cells)
      ORDER BY handler, lane
      FOR UPDATE SKIP LOCKED
      """;

  private static final String TAKE =
      "UPDATE {lane} SET owner = ?, token = GREATEST(token + 1, ?) WHERE owner = 0 AND (:cells)";

  private static final String GIVE_BACK =
      "UPDATE {lane} SET owner = 0 WHERE owner = ? AND (:cells)";

  private static final String MARK_CLEAN =
      "UPDATE {lane} SET unclean = FALSE WHERE owner = ? AND (:cells)";

  private static final String PAUSED = "SELECT handler FROM {pause}";

  private static final String STOPPING =
      "UPDATE {node} SET state = 'STOPPING' WHERE incarnation = ? AND state = 'LIVE'";

  // The counters of a family stand in the row of its first key. A node that joins holds it.
  private static final String LOCK_UNKNOWN =
      """
      SELECT unknown_ms, unknown_seen, {now} FROM {handler} WHERE key_id = ? FOR UPDATE SKIP LOCKED
      """;

  private static final String ADD_UNKNOWN =
      "UPDATE {handler} SET unknown_ms = ?, unknown_seen = ? WHERE key_id = ?";

  private static final String FORGET_UNKNOWN =
      """
      UPDATE {handler} SET unknown_ms = 0, unknown_seen = NULL
      WHERE unknown_seen IS NOT NULL AND key_id IN (:handlers)
      """;

  private final NodeConnection connection;
  private final Registry registry;
  private final boolean oneProcess;
  private final AtomicInteger lanes;

  /**
   * @param lanes what the inbox was opened with; 0 before that
   */
  JdbcNodes(NodeConnection connection, Registry registry, boolean oneProcess, AtomicInteger lanes) {
    this.connection = connection;
    this.registry = registry;
    this.oneProcess = oneProcess;
    this.lanes = lanes;
  }

  @Override
  public List<List<HandlerId>> register(List<List<String>> families) {
    return registry.register(connection, families);
  }

  @Override
  public long join(String name, Set<Integer> handlers) {
    return connection.transaction(
        session -> {
          refuseOtherLanes(session, handlers);
          Instant horizon = session.now().minus(REMEMBERED);
          List<Long> old =
              session.query(OLD_NODES, params -> params.add(horizon), row -> row.getLong(1));
          session.batch(FORGET, old, Params::add);
          if (oneProcess) {
            List<Long> others =
                session.query(OTHER_JVMS, params -> params.add(JVM), row -> row.getLong(1));
            for (long dead : others) {
              end(session, dead, NodeRow.State.DEAD);
              session.update(FREE_UNCLEAN, params -> params.add(dead));
            }
          }
          long incarnation = incarnation(session.nextValue("{node_seq}"));
          session.update(
              JOIN, params -> params.add(incarnation).add(name).add(JVM).add(written(handlers)));
          CrashPoints.reach("join.before-commit");
          return incarnation;
        });
  }

  /** The database may have forgotten a number, and give it again. */
  private static long incarnation(long number) {
    return number << RANDOM_BITS | ThreadLocalRandom.current().nextLong(1L << RANDOM_BITS);
  }

  /** The number may have been changed since the store was opened; from here on it cannot be. */
  private void refuseOtherLanes(Session session, Set<Integer> handlers) throws SQLException {
    int opened = lanes.get();
    if (opened == 0 || handlers.isEmpty()) {
      return;
    }
    session.query(
        session.sql(LOCK_HANDLERS).replace(":handlers", Lists.numbers(handlers)),
        params -> {},
        row -> row.getInt(1));
    int present = session.one(LANES, params -> {}, row -> row.getInt(1)).orElse(opened);
    if (present != opened) {
      throw new ConfigurationException(
          ErrorCode.LANES_DIFFER,
          ("The inbox has been given %d lanes since it was opened with %d here. Set lanes(%d) and"
                  + " start again.")
              .formatted(present, opened, present));
    }
  }

  private static String written(Set<Integer> handlers) {
    return handlers.stream().sorted().map(String::valueOf).collect(Collectors.joining(","));
  }

  private static Set<Integer> readHandlers(String written) {
    return Arrays.stream(written.split(","))
        .filter(each -> !each.isEmpty())
        .map(Integer::valueOf)
        .collect(Collectors.toUnmodifiableSet());
  }

  @Override
  public boolean beat(long incarnation, long written) {
    CrashPoints.reach("nodes.before-beat");
    boolean alive =
        connection.transaction(
            session -> {
              if (session.update(BEAT, params -> params.add(incarnation).add(written)) == 1) {
                CrashPoints.reach("beat.before-commit");
                return true;
              }
              end(session, incarnation, NodeRow.State.DEAD);
              session.update(FREE_UNCLEAN, params -> params.add(incarnation));
              return false;
            });
    CrashPoints.reach("nodes.after-beat");
    return alive;
  }

  @Override
  public List<NodeRow> nodes() {
    return connection.transaction(JdbcNodes::read);
  }

  static List<NodeRow> read(Session session) throws SQLException {
    Instant horizon = session.now().minus(REMEMBERED);
    return session.query(NODES, params -> params.add(horizon), JdbcNodes::node);
  }

  private static NodeRow node(ResultSet row) throws SQLException {
    return new NodeRow(
        row.getLong(1),
        row.getString(2),
        NodeRow.State.valueOf(row.getString(3)),
        row.getLong(4),
        readHandlers(row.getString(5)));
  }

  @Override
  public boolean declareDead(long incarnation, long seenBeat) {
    CrashPoints.reach("nodes.before-declare-dead");
    boolean dead =
        connection.transaction(
            session -> {
              boolean still =
                  session
                      .one(LOCK_SILENT, params -> params.add(incarnation), row -> row.getLong(1))
                      .filter(beat -> beat == seenBeat)
                      .isPresent();
              if (!still || !locksAllOf(session, incarnation)) {
                return false;
              }
              end(session, incarnation, NodeRow.State.DEAD);
              session.update(FREE_UNCLEAN, params -> params.add(incarnation));
              CrashPoints.reach("declare-dead.before-commit");
              return true;
            });
    CrashPoints.reach("nodes.after-declare-dead");
    return dead;
  }

  /** While the row of a node is locked, it can lose cells, but it cannot take more. */
  private static boolean locksAllOf(Session session, long incarnation) throws SQLException {
    int owned = session.query(OWNED, params -> params.add(incarnation), JdbcNodes::key).size();
    return session.query(LOCK_OWNED, params -> params.add(incarnation), JdbcNodes::key).size()
        >= owned;
  }

  private static void end(Session session, long incarnation, NodeRow.State state)
      throws SQLException {
    session.update(END, params -> params.add(state.name()).add(incarnation));
  }

  @Override
  public List<CellRow> cells(Collection<Integer> handlers) {
    if (handlers.isEmpty()) {
      return List.of();
    }
    return connection.transaction(
        session ->
            session.query(
                session.sql(CELLS).replace(":handlers", Lists.numbers(handlers)),
                params -> {},
                JdbcNodes::cell));
  }

  private static CellRow cell(ResultSet row) throws SQLException {
    return new CellRow(key(row), row.getLong(3), row.getLong(4), row.getBoolean(5));
  }

  private static Cell key(ResultSet row) throws SQLException {
    return new Cell(row.getInt(1), row.getInt(2));
  }

  @Override
  public List<CellRow> take(long incarnation, List<Cell> cells) {
    if (cells.isEmpty()) {
      return List.of();
    }
    CrashPoints.reach("nodes.before-take");
    return connection.transaction(
        session -> {
          Optional<Long> clock = clockOfLive(session, incarnation);
          if (clock.isEmpty()) {
            return List.of();
          }
          long lowest = clock.get();
          List<CellRow> free =
              session.query(
                  session.sql(LOCK_FREE_CELLS).replace(":cells", predicate(cells)),
                  params -> {},
                  JdbcNodes::cell);
          if (free.isEmpty()) {
            return List.of();
          }
          session.update(
              session
                  .sql(TAKE)
                  .replace(":cells", predicate(free.stream().map(CellRow::cell).toList())),
              params -> params.add(incarnation).add(lowest));
          List<CellRow> taken = new ArrayList<>();
          for (CellRow each : free) {
            long token = Math.max(each.token() + 1, lowest);
            taken.add(new CellRow(each.cell(), incarnation, token, each.unclean()));
          }
          CrashPoints.reach("take.before-commit");
          return taken;
        });
  }

  /** Holds the row of a live node, and answers the time in milliseconds. */
  private static Optional<Long> clockOfLive(Session session, long incarnation) throws SQLException {
    record Found(String state, long millis) {}
    return session
        .one(
            LOCK_NODE,
            params -> params.add(incarnation),
            row -> new Found(row.getString(1), session.time(row, 2).toEpochMilli()))
        .filter(found -> found.state().equals(NodeRow.State.LIVE.name()))
        .map(Found::millis);
  }

  /** Cells as a condition, handler by handler in ascending order. */
  private static String predicate(Collection<Cell> cells) {
    Map<Integer, List<Integer>> lanes = new TreeMap<>();
    cells.stream()
        .sorted(Comparator.comparing(Cell::lane))
        .forEach(
            each ->
                lanes.computeIfAbsent(each.handler(), any -> new ArrayList<>()).add(each.lane()));
    return lanes.entrySet().stream()
        .map(
            each ->
                "handler = %d AND lane IN (%s)"
                    .formatted(each.getKey(), Lists.numbers(each.getValue())))
        .collect(Collectors.joining(" OR "));
  }

  @Override
  public void giveBack(long incarnation, Collection<Cell> cells) {
    change(GIVE_BACK, incarnation, cells);
  }

  @Override
  public void markClean(long incarnation, Collection<Cell> cells) {
    change(MARK_CLEAN, incarnation, cells);
  }

  private void change(String update, long incarnation, Collection<Cell> cells) {
    if (!cells.isEmpty()) {
      connection.transaction(
          session ->
              session.update(
                  session.sql(update).replace(":cells", predicate(cells)),
                  params -> params.add(incarnation)));
    }
  }

  @Override
  public Set<Integer> paused() {
    return Set.copyOf(
        connection.transaction(
            session -> session.query(PAUSED, params -> {}, row -> row.getInt(1))));
  }

  @Override
  public void stopping(long incarnation) {
    connection.transaction(session -> session.update(STOPPING, params -> params.add(incarnation)));
  }

  @Override
  public void stopped(long incarnation) {
    try {
      connection.transaction(
          session -> {
            session.query(LOCK_NODE, params -> params.add(incarnation), row -> row.getString(1));
            session.update(FREE, params -> params.add(incarnation));
            end(session, incarnation, NodeRow.State.STOPPED);
            return true;
          });
    } finally {
      connection.release();
    }
  }

  @Override
  public long unknownFor(int handler, long upToMillis) {
    record Unknown(long millis, Instant seen, Instant now) {}
    return connection.transaction(
        session -> {
          List<Unknown> found =
              session.query(
                  LOCK_UNKNOWN,
                  params -> params.add(handler),
                  row -> {
                    Instant now = session.time(row, 3);
                    Instant seen = session.dialect.read(row, 2);
                    return new Unknown(row.getLong(1), seen == null ? now : seen, now);
                  });
          if (found.isEmpty()) {
            return 0L;
          }
          Unknown unknown = found.get(0);
          // A clock that was set back adds nothing.
          long passed = Math.max(0, Duration.between(unknown.seen(), unknown.now()).toMillis());
          long sum = unknown.millis() + Math.min(passed, upToMillis);
          session.update(ADD_UNKNOWN, params -> params.add(sum).add(unknown.now()).add(handler));
          return sum;
        });
  }

  @Override
  public void known(Collection<Integer> handlers) {
    if (!handlers.isEmpty()) {
      connection.transaction(
          session ->
              session.update(
                  session.sql(FORGET_UNKNOWN).replace(":handlers", Lists.numbers(handlers)),
                  params -> {}));
    }
  }
}
