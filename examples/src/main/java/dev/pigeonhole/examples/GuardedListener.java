package dev.pigeonhole.examples;

import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/**
 * A listener that had been there before, wrapped in five lines. Its broker delivers one order three
 * times; the ledger has one entry.
 */
public final class GuardedListener {

  private final Guard guard;

  private GuardedListener(Guard guard) {
    this.guard = guard;
  }

  public static void main(String[] args) throws SQLException {
    System.out.println(run(ExampleDatabase.open(args, "listener")) + " entry for o-1");
  }

  /** Answers how many entries the order has. */
  static long run(DataSource database) throws SQLException {
    Schema.migrate(database);
    Ledger.create(database);
    try (Guard guard = Guard.on(JdbcStore.of(database)).build()) {
      GuardedListener listener = new GuardedListener(guard);
      for (int delivery = 1; delivery <= 3; delivery++) {
        listener.onOrder(new OrderPlaced("o-1", "ada", 999));
      }
    }
    return Ledger.entries(database, "o-1");
  }

  // snippet:guarded-listener
  void onOrder(OrderPlaced order) throws SQLException {
    GuardKey key = GuardKey.of("post-to-ledger", OrderPlaced.class, order.order());
    Guarded<Long> result = guard.run(key, tx -> post(tx.connection(), order));
    if (result instanceof Guarded.Busy) {
      throw new IllegalStateException("A copy is still at work: let this one come again.");
    }
  }

  // end

  /** What the listener did before it was wrapped, with a connection of its own. */
  private static long post(Connection connection, OrderPlaced order) throws SQLException {
    Ledger.post(connection, order);
    return order.cents();
  }
}
