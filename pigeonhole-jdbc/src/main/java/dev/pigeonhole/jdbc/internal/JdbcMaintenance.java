package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreSettings;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Start-up, the registry of handler keys, and what keeps a store tidy. */
final class JdbcMaintenance implements Maintenance {

  private static final String OWNER = "SELECT name, lanes FROM {inbox} WHERE id = 1";

  private static final String LANES = "SELECT lane FROM {lane} WHERE handler = ? ORDER BY lane";

  // Index: later_due, cell by cell.
  private static final String WAITING =
      """
      SELECT seq, lane, handler, version, key_id, failures, crashes, releases, key_hash, mark
      FROM {later}
      WHERE lane = ? AND handler = ?
      ORDER BY seq LIMIT ?
      """;

  // By the primary key, lane by lane, and no further than the limit.
  private static final String FRESH_OF =
      """
      SELECT count(*)
      FROM (SELECT d.seq
            FROM {lane} l JOIN {delivery} d ON d.lane = l.lane AND d.handler = l.handler
            WHERE l.handler = ? LIMIT ?) AS fresh
      """;

  // Index: later_due, in the same way.
  private static final String LATER_OF =
      """
      SELECT count(*)
      FROM (SELECT d.seq
            FROM {lane} l JOIN {later} d ON d.lane = l.lane AND d.handler = l.handler
            WHERE l.handler = ? LIMIT ?) AS later
      """;

  private final Jdbc jdbc;
  private final Registry registry;
  private final Deliveries deliveries;
  private final StartupChecks checks;
  private final JdbcPruning pruning;
  private final KeyAdmin keys;
  private final AtomicInteger lanes;

  /**
   * @param lanes told to the nodes: what the inbox was opened with
   */
  JdbcMaintenance(
      Jdbc jdbc,
      Registry registry,
      Deliveries deliveries,
      StartupChecks checks,
      JdbcPruning pruning,
      KeyAdmin keys,
      AtomicInteger lanes) {
    this.jdbc = jdbc;
    this.registry = registry;
    this.deliveries = deliveries;
    this.checks = checks;
    this.pruning = pruning;
    this.keys = keys;
    this.lanes = lanes;
  }

  @Override
  public List<String> open(StoreSettings settings) {
    List<String> warnings = checks.run(settings);
    List<Problem> problems =
        jdbc.transaction(
            session -> {
              jdbc.ownTables.open(session);
              return claim(session, settings);
            });
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    registry.handlers();
    lanes.set(settings.lanes());
    return warnings;
  }

  private record Owner(String name, int lanes) {}

  private static Optional<Owner> owner(Session session) throws SQLException {
    return session.one(OWNER, params -> {}, row -> new Owner(row.getString(1), row.getInt(2)));
  }

  private static List<Problem> claim(Session session, StoreSettings settings) throws SQLException {
    Optional<Owner> known = owner(session);
    if (known.isEmpty()) {
      session.insertIfAbsent(
          "INSERT INTO {retention} (id) VALUES ", "id", "(1)", List.of(1), (params, row) -> {});
      session.insertIfAbsent(
          "INSERT INTO {inbox} (id, name, lanes, created_at) VALUES ",
          "id",
          "(1, ?, ?, {now})",
          List.of(settings),
          (params, each) -> params.add(each.inbox()).add(each.lanes()));
      known = owner(session);
    }
    Owner owner = known.orElseThrow();
    List<Problem> problems = new ArrayList<>();
    if (!owner.name().equals(settings.inbox())) {
      problems.add(
          new Problem(
              ErrorCode.INBOX_TAKEN,
              ("These tables belong to inbox '%s', and this is inbox '%s'. Give each inbox its"
                      + " own schema or prefix.")
                  .formatted(owner.name(), settings.inbox())));
    }
    if (owner.lanes() != settings.lanes()) {
      problems.add(
          new Problem(
              ErrorCode.LANES_DIFFER,
              ("The inbox was created with %d lanes and is now configured with %d. The number is"
                      + " part of the stored data: set lanes(%d), or change it with"
                      + " %s.relaneOn(dataSource, %d) while the inbox is empty and no node runs.")
                  .formatted(
                      owner.lanes(),
                      settings.lanes(),
                      owner.lanes(),
                      session.tables.inJava(),
                      settings.lanes())));
    }
    return problems;
  }

  @Override
  public List<List<HandlerId>> register(List<List<String>> families) {
    return registry.register(families);
  }

  @Override
  public Collection<HandlerId> handlers() {
    return registry.handlers();
  }

  @Override
  public Pruning.Step prune(Pruning wanted, int limit) {
    return pruning.step(wanted, limit);
  }

  @Override
  public int poisonUnknown(int handler, Failure reason, int limit) {
    List<Cell> cells =
        jdbc.read(
            session ->
                session.query(
                    LANES, params -> params.add(handler), row -> new Cell(row.getInt(1), handler)));
    List<Delivery> open =
        new ArrayList<>(
            deliveries.fresh(cells.stream().map(cell -> Range.after(cell, 0, limit)).toList()));
    if (open.size() < limit) {
      open.addAll(jdbc.read(session -> waiting(session, cells, limit)));
    }
    List<Settlement> ends =
        open.stream()
            .limit(limit)
            .map(each -> new Settlement(each, new Outcome.Poisoned(reason, false)))
            .toList();
    SettleResult result = deliveries.settle(ends);
    return ends.size() - result.refused().size() - result.locked().size();
  }

  @Override
  public void finishReleases() {
    keys.finishReleases();
  }

  @Override
  public Map<Integer, Integer> unsettled(Collection<Integer> handlers, int atMost) {
    return jdbc.read(
        session -> {
          Map<Integer, Integer> counted = new HashMap<>();
          for (int handler : handlers) {
            int fresh = count(session, FRESH_OF, handler, atMost);
            counted.put(
                handler,
                fresh == atMost
                    ? atMost
                    : Math.min(atMost, fresh + count(session, LATER_OF, handler, atMost)));
          }
          return counted;
        });
  }

  private static int count(Session session, String sql, int handler, int atMost)
      throws SQLException {
    return session
        .one(sql, params -> params.add(handler).add(atMost), row -> row.getInt(1))
        .orElse(0);
  }

  private static List<Delivery> waiting(Session session, List<Cell> cells, int limit)
      throws SQLException {
    List<Delivery> waiting = new ArrayList<>();
    for (Cell cell : cells) {
      waiting.addAll(
          session.query(
              WAITING,
              params -> params.add(cell.lane()).add(cell.handler()).add(limit),
              row -> Session.delivery(row, true)));
      if (waiting.size() >= limit) {
        break;
      }
    }
    return waiting;
  }
}
