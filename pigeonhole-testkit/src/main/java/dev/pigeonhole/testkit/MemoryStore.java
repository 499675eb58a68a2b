package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.StoreDescription;
import dev.pigeonhole.store.Transactions;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/**
 * A store that forgets everything with its process: the whole contract of {@link InboxStore} under
 * one lock, without a database, for tests. Several inboxes may share one to play the nodes of a
 * cluster.
 *
 * <p>It has no connection to hand out, so {@link #transactions()} is empty and accepting through a
 * connection is refused with {@code PH-TX-07}.
 */
public final class MemoryStore implements InboxStore {
  private final Tables tables = new Tables();
  private final Acceptor acceptor = new MemoryAcceptor(tables);
  private final Deliveries deliveries = new MemoryDeliveries(tables);
  private final Maintenance maintenance = new MemoryMaintenance(tables);
  private final Nodes nodes = new MemoryNodes(tables, maintenance);
  private final AdminQueries admin = new MemoryAdmin(tables);

  private MemoryStore() {}

  /** An empty store on the clock of the system. */
  public static MemoryStore create() {
    return new MemoryStore();
  }

  /** Takes every time from this clock from now on, those of stored rows included. */
  public MemoryStore clock(InstantSource clock) {
    tables.clock(clock);
    return this;
  }

  /**
   * Forgets every message with all that became of it, what operators did, and who was paused.
   * Inboxes that were built on it go on working; none of them may be running.
   */
  public void clear() {
    tables.commit(tables::clear);
  }

  @Override
  public Acceptor acceptor() {
    return acceptor;
  }

  @Override
  public Deliveries deliveries() {
    return deliveries;
  }

  @Override
  public Nodes nodes() {
    return nodes;
  }

  @Override
  public Maintenance maintenance() {
    return maintenance;
  }

  @Override
  public AdminQueries admin() {
    return admin;
  }

  @Override
  public Optional<Transactions> transactions() {
    return Optional.empty();
  }

  @Override
  public InstantSource clock() {
    return tables.clock();
  }

  /** True: an interrupt finds nothing here that it could break. */
  @Override
  public boolean interruptible() {
    return true;
  }

  @Override
  public StoreDescription describe() {
    return new StoreDescription(
        "memory", List.of("store: what is kept in memory is gone with its process"));
  }

  /** What the store holds, for the tests of this package. */
  Tables tables() {
    return tables;
  }
}
