package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.TransactionSource;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.StoreDescription;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.WakeUps;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The groups of a store, wired for the database that answered the first connection.
 *
 * @param place where that is: the URL without what comes after a question mark or a semicolon, and
 *     the catalog, for a URL need not name the database; empty if nobody knows
 */
public record Parts(
    Acceptor acceptor,
    Deliveries deliveries,
    Nodes nodes,
    Maintenance maintenance,
    AdminQueries admin,
    Transactions transactions,
    Guards guards,
    Supplier<WakeUps> wakeUps,
    boolean interruptible,
    StoreDescription description,
    String place) {

  /**
   * Looks at the database and wires the groups.
   *
   * @param schema null for the one the connection stands in
   * @param clock null for the database's own
   * @param notifying whether nodes wake each other
   * @param source of the transactions of handlers; null for our own
   */
  public static Parts connect(
      DataSource dataSource,
      DataSource beats,
      @Nullable String schema,
      String prefix,
      @Nullable InstantSource clock,
      boolean notifying,
      @Nullable TransactionSource source) {
    Dialect dialect;
    Tables tables;
    boolean embedded;
    StoreDescription description;
    String place;
    try (Connection connection = dataSource.getConnection()) {
      DatabaseMetaData meta = connection.getMetaData();
      dialect = Dialect.of(meta.getDatabaseProductName());
      tables = Tables.on(connection, dialect, schema, prefix);
      embedded = embedded(meta.getURL());
      place = place(connection);
      description =
          new StoreDescription(
              "%s %s, schema %s, tables %s…"
                  .formatted(
                      meta.getDatabaseProductName(),
                      meta.getDatabaseProductVersion(),
                      tables.schema(),
                      prefix),
              unsafe(meta.getURL(), clock));
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
    return wire(
        new Jdbc(dataSource, dialect, tables, clock, source),
        dataSource,
        beats,
        embedded,
        notifying,
        description,
        place);
  }

  /** Where a connection leads to. */
  static String place(Connection connection) throws SQLException {
    String url = connection.getMetaData().getURL();
    return url == null || url.isEmpty()
        ? ""
        : url.replaceFirst("[?;].*", "") + " " + connection.getCatalog();
  }

  /** Whether its database is at this place; one without an address is nowhere. */
  public boolean isIn(String other) {
    return !place.isEmpty() && place.equals(other);
  }

  private static List<String> unsafe(@Nullable String url, @Nullable InstantSource clock) {
    List<String> unsafe = new ArrayList<>();
    String lower = url == null ? "" : url.toLowerCase(Locale.ROOT);
    if (lower.startsWith("jdbc:h2:") && (lower.contains(":mem:") || lower.contains("/mem:"))) {
      unsafe.add("store: a database in memory is gone with its process");
    }
    if (clock != null) {
      unsafe.add("store: clock(…) replaces the clock of the database, which is for tests");
    }
    return unsafe;
  }

  private static Parts wire(
      Jdbc jdbc,
      DataSource dataSource,
      DataSource beats,
      boolean embedded,
      boolean notifying,
      StoreDescription description,
      String place) {
    Statements statements = jdbc.dialect.statements();
    Families families = new Families();
    AtomicInteger lanes = new AtomicInteger();
    KeyGates gates = new KeyGates(statements);
    KeyAdmin keys = new KeyAdmin(jdbc, families, statements, gates);
    Settling settling = new Settling(statements, gates);
    JdbcDeliveries deliveries = new JdbcDeliveries(jdbc, statements, settling);
    Registry registry = new Registry(jdbc, families);
    JdbcPruning pruning = new JdbcPruning(jdbc, statements, gates);
    return new Parts(
        new JdbcAcceptor(jdbc, new Gate(statements, families), statements),
        deliveries,
        new JdbcNodes(new NodeConnection(beats, jdbc), registry, embedded, lanes),
        new JdbcMaintenance(
            jdbc,
            registry,
            deliveries,
            new StartupChecks(jdbc, dataSource, dataSource == beats, notifying),
            pruning,
            keys,
            lanes),
        new JdbcAdmin(jdbc, families, statements, pruning, gates, keys),
        new JdbcTransactions(jdbc, statements),
        new JdbcGuards(jdbc, statements, jdbc.dialect.guardSql(), families),
        () -> new PostgresWakeUps(jdbc),
        jdbc.dialect.interruptible(),
        description,
        place);
  }

  /** Only one process can open such a database. */
  private static boolean embedded(@Nullable String url) {
    String lower = url == null ? "" : url.toLowerCase(Locale.ROOT);
    return lower.startsWith("jdbc:h2:")
        && !lower.startsWith("jdbc:h2:tcp:")
        && !lower.startsWith("jdbc:h2:ssl:")
        && !lower.contains("auto_server=true");
  }
}
