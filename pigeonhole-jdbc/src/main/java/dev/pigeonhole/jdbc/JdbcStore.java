package dev.pigeonhole.jdbc;

import dev.pigeonhole.jdbc.internal.Parts;
import dev.pigeonhole.jdbc.internal.Tables;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.StoreDescription;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.WakeUps;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Keeps an inbox in PostgreSQL, MariaDB or H2. The tables are made by {@link Schema}.
 *
 * <pre>{@code
 * JdbcStore.of(dataSource).schema("shop").prefix("inbox_")
 * }</pre>
 *
 * <p>Immutable: each option answers another store. The database is looked at when it is first used,
 * so a store can be built while it is down. On MariaDB, a pool whose connections are READ COMMITTED
 * and not in autocommit mode saves round trips.
 */
public final class JdbcStore implements InboxStore {

  private final DataSource dataSource;
  private final @Nullable DataSource beats;
  private final @Nullable String schema;
  private final String prefix;
  private final @Nullable InstantSource clock;
  private final boolean notifying;
  private final @Nullable TransactionSource source;
  private final ReentrantLock connecting = new ReentrantLock();

  /** Written under the lock, read without it. */
  private volatile @Nullable Parts parts;

  private JdbcStore(
      DataSource dataSource,
      @Nullable DataSource beats,
      @Nullable String schema,
      String prefix,
      @Nullable InstantSource clock,
      boolean notifying,
      @Nullable TransactionSource source) {
    Tables.check(schema, prefix);
    this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
    this.beats = beats;
    this.schema = schema;
    this.prefix = prefix;
    this.clock = clock;
    this.notifying = notifying;
    this.source = source;
  }

  /** Tables with the prefix {@code pigeonhole_} in the schema that the connections stand in. */
  public static JdbcStore of(DataSource dataSource) {
    return new JdbcStore(dataSource, null, null, Schema.DEFAULT_PREFIX, null, false, null);
  }

  /** Looks for the tables in this schema; on MariaDB that is a database. */
  public JdbcStore schema(String schema) {
    return new JdbcStore(dataSource, beats, schema, prefix, clock, notifying, source);
  }

  /** Looks for tables with this prefix, at most 41 characters. */
  public JdbcStore prefix(String prefix) {
    return new JdbcStore(dataSource, beats, schema, prefix, clock, notifying, source);
  }

  /**
   * Other tables of the same database: those whose prefix goes on with this word. For what stands
   * beside an inbox, such as its outbox.
   */
  public JdbcStore beside(String word) {
    return prefix(prefix + word);
  }

  /**
   * Takes the one connection of a node's beats from here, so that a pool that handlers have emptied
   * cannot make a healthy node look dead. By default it is the same pool.
   */
  public JdbcStore beatsOn(DataSource beats) {
    return new JdbcStore(dataSource, beats, schema, prefix, clock, notifying, source);
  }

  /**
   * Lets the nodes wake each other by NOTIFY, on PostgreSQL and with its own driver, instead of
   * finding each other's messages by polling alone. A word is sent after the commit of an accept,
   * and after {@code Inbox.wake()}, at most ten times a second for each node. Polling goes on, for
   * words can be lost.
   *
   * <p>Takes one more connection of the pool, which a pooler in transaction mode cannot give.
   */
  public JdbcStore notifying() {
    return new JdbcStore(dataSource, beats, schema, prefix, clock, true, source);
  }

  /** Binds this clock instead of the database's own; for tests that move time. */
  public JdbcStore clock(InstantSource clock) {
    return new JdbcStore(dataSource, beats, schema, prefix, clock, notifying, source);
  }

  /**
   * Lets somebody else manage the transactions of handlers, so that what they write through a
   * framework commits with their receipts. All else goes on in transactions of the store's own.
   */
  public JdbcStore transactionsFrom(TransactionSource source) {
    Objects.requireNonNull(source, "source");
    return new JdbcStore(dataSource, beats, schema, prefix, clock, notifying, source);
  }

  /** Where its connections come from. */
  public DataSource dataSource() {
    return dataSource;
  }

  @Override
  public Acceptor acceptor() {
    return parts().acceptor();
  }

  @Override
  public Deliveries deliveries() {
    return parts().deliveries();
  }

  @Override
  public Nodes nodes() {
    return parts().nodes();
  }

  @Override
  public Maintenance maintenance() {
    return parts().maintenance();
  }

  @Override
  public AdminQueries admin() {
    return parts().admin();
  }

  @Override
  public Optional<Transactions> transactions() {
    return Optional.of(parts().transactions());
  }

  @Override
  public Optional<Guards> guards() {
    return Optional.of(parts().guards());
  }

  @Override
  public Optional<WakeUps> wakeUps() {
    return notifying ? Optional.of(parts().wakeUps().get()) : Optional.empty();
  }

  @Override
  public InstantSource clock() {
    return clock == null ? InstantSource.system() : clock;
  }

  @Override
  public boolean interruptible() {
    return parts().interruptible();
  }

  @Override
  public boolean sharesTransactionsWith(InboxStore other) {
    return other instanceof JdbcStore jdbc
        && (jdbc.dataSource == dataSource || parts().isIn(jdbc.parts().place()));
  }

  @Override
  public StoreDescription describe() {
    return parts().description();
  }

  private Parts parts() {
    Parts known = parts;
    if (known != null) {
      return known;
    }
    connecting.lock();
    try {
      if (parts == null) {
        parts =
            Parts.connect(
                dataSource,
                beats == null ? dataSource : beats,
                schema,
                prefix,
                clock,
                notifying,
                source);
      }
      return Objects.requireNonNull(parts);
    } finally {
      connecting.unlock();
    }
  }
}
