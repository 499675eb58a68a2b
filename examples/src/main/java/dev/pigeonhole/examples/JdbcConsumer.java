package dev.pigeonhole.examples;

import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/**
 * A consumer of a log, in plain JDBC, with a transaction of its own: it writes down how far it has
 * read together with what it does. The producer has published one order twice, at two places of the
 * log; the guard joins the consumer's transaction and runs for the first of them only, and the
 * second moves the position like every other.
 */
public final class JdbcConsumer {

  /** What stands in the log. */
  record Entry(long position, String id, OrderPlaced order) {}

  private final DataSource database;
  private final Guard guard;

  private JdbcConsumer(DataSource database, Guard guard) {
    this.database = database;
    this.guard = guard;
  }

  public static void main(String[] args) throws SQLException {
    run(ExampleDatabase.open(args, "consumer")).forEach(System.out::println);
  }

  /** Answers what became of each entry. */
  static List<String> run(DataSource database) throws SQLException {
    Schema.migrate(database);
    Ledger.create(database);
    execute(database, "CREATE TABLE IF NOT EXISTS consumer (topic varchar(40), reached bigint)");
    execute(
        database,
        "INSERT INTO consumer SELECT 'orders', 0 WHERE NOT EXISTS (SELECT 1 FROM consumer)");
    List<Entry> log =
        List.of(
            new Entry(1, "m-1", new OrderPlaced("o-1", "ada", 999)),
            new Entry(2, "m-1", new OrderPlaced("o-1", "ada", 999)),
            new Entry(3, "m-2", new OrderPlaced("o-2", "bob", 500)));
    List<String> seen = new ArrayList<>();
    try (Guard guard = Guard.on(JdbcStore.of(database)).build()) {
      JdbcConsumer consumer = new JdbcConsumer(database, guard);
      for (Entry entry : log) {
        Guarded<Long> result = consumer.consume(entry);
        seen.add(entry.position() + ": " + result.getClass().getSimpleName());
      }
    }
    return seen;
  }

  // snippet:jdbc-consumer
  Guarded<Long> consume(Entry entry) throws SQLException {
    GuardKey key = GuardKey.ofMessage("post-to-ledger", "orders", entry.id());
    try (Connection connection = database.getConnection()) {
      connection.setAutoCommit(false);
      Guarded<Long> result = guard.run(connection, key, tx -> post(tx.connection(), entry.order()));
      if (result instanceof Guarded.Busy) {
        connection.rollback(); // a copy is still at work: read this entry again
      } else {
        moveTo(connection, entry.position());
        connection.commit(); // the ledger, the receipt and the position, or none of them
      }
      return result;
    }
  }

  // end

  private static long post(Connection connection, OrderPlaced order) throws SQLException {
    Ledger.post(connection, order);
    return order.cents();
  }

  private static void moveTo(Connection connection, long position) throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement("UPDATE consumer SET reached = ? WHERE topic = 'orders'")) {
      update.setLong(1, position);
      update.executeUpdate();
    }
  }

  private static void execute(DataSource database, String sql) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
