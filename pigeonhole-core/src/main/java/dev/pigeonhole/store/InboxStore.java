package dev.pigeonhole.store;

import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/**
 * Where an inbox keeps its messages. A store is a set of small groups; each group's Javadoc is the
 * contract that {@code pigeonhole-tck} checks.
 *
 * <p>Every method is safe for many threads. A method that cannot reach the database, or loses it on
 * the way, throws a {@link StoreException} that says whether the work may have been done.
 */
public interface InboxStore {

  /** Accepting messages: the gate that lets each identity in once. */
  Acceptor acceptor();

  /** Reading and settling deliveries. */
  Deliveries deliveries();

  /** Nodes, their beats, and who owns which cell. */
  Nodes nodes();

  /** The start-up check, and the registry of handler keys. */
  Maintenance maintenance();

  /** What operators see and change. */
  AdminQueries admin();

  /** Empty for stores that cannot let a handler's writes and its receipt commit together. */
  Optional<Transactions> transactions();

  /** Empty for stores that cannot let a guard's writes and its receipt commit together. */
  default Optional<Guards> guards() {
    return Optional.empty();
  }

  /**
   * How the nodes of this store wake each other, another one for each node; empty where they only
   * poll.
   */
  default Optional<WakeUps> wakeUps() {
    return Optional.empty();
  }

  /** The one clock of whoever needs a time in Java; durable times are the database's own. */
  InstantSource clock();

  /**
   * False where interrupting a thread inside the store can do harm: an interrupt during file access
   * closes an embedded H2 database. The engine then only signals stop.
   */
  default boolean interruptible() {
    return true;
  }

  /**
   * Whether a transaction of the other one can write here, too: both are in the same database.
   * Stores without transactions share none.
   */
  default boolean sharesTransactionsWith(InboxStore other) {
    return this == other && transactions().isPresent();
  }

  /** What it is and where, for people who read the log. */
  default StoreDescription describe() {
    return new StoreDescription(getClass().getSimpleName(), List.of());
  }
}
