package dev.pigeonhole.examples.demo;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Message;
import dev.pigeonhole.examples.OrderPlaced;
import dev.pigeonhole.examples.demo.Answer.Kind;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.outbox.Route;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Transport;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The service in which orders are placed: each is a row and a message in one transaction. A second
 * copy of an order finds the row; its message is published again all the same, as by a client that
 * did not see the first answer, and the outbox knows its id.
 */
final class Shop implements Intake, AutoCloseable {

  static final String ORDER_TABLE =
      "CREATE TABLE placed_order (order_id varchar(40) NOT NULL PRIMARY KEY,"
          + " customer varchar(40) NOT NULL, cents bigint NOT NULL)";

  private static final int CONNECTIONS = 5;

  private final Plan plan;
  private final HikariDataSource pool;
  private final Outbox outbox;

  Shop(Plan plan, Database database, Wire wire) {
    this.plan = plan;
    this.pool = Database.pool(database.toArguments(), CONNECTIONS);
    this.outbox = outbox(pool, wire.transport()); // never started here: relays are processes
  }

  /** The outbox of the shop, for who publishes and for who sends. */
  static Outbox outbox(HikariDataSource pool, Transport transport) {
    return Outbox.on(JdbcStore.of(pool))
        .named("shop")
        .route(Route.of(OrderPlaced.class).orderedBy(OrderPlaced::customer), transport)
        .concurrency(4)
        // Shorter than the defaults: nobody wakes a relay in another process, and a demo has no
        // time to wait for the dead.
        .polling(Duration.ofMillis(20), Duration.ofMillis(100))
        .beats(Duration.ofMillis(500), Duration.ofSeconds(3))
        .build();
  }

  @Override
  public List<Answer> bring(List<Copy> batch) throws InterruptedException {
    List<OrderPlaced> orders = batch.stream().map(copy -> plan.order(copy.order())).toList();
    while (true) {
      try {
        return place(orders);
      } catch (SQLException | StoreException e) {
        Thread.sleep(100); // as a client waits before it asks again
      }
    }
  }

  private List<Answer> place(List<OrderPlaced> orders) throws SQLException {
    List<Answer> answers = new ArrayList<>();
    try (Connection connection = pool.getConnection()) {
      connection.setAutoCommit(false);
      for (OrderPlaced order : orders) {
        boolean known = isPlaced(connection, order);
        if (!known) {
          insert(connection, order);
        }
        answers.add(new Answer(known ? Kind.REPEAT : Kind.ACCEPTED, List.of()));
      }
      outbox.publish(
          connection, orders.stream().map(order -> Message.of(order.order(), order)).toList());
      connection.commit(); // otherwise the pool rolls it back
      return answers;
    }
  }

  private static boolean isPlaced(Connection connection, OrderPlaced order) throws SQLException {
    try (PreparedStatement select =
        connection.prepareStatement("SELECT 1 FROM placed_order WHERE order_id = ?")) {
      select.setString(1, order.order());
      try (ResultSet rows = select.executeQuery()) {
        return rows.next();
      }
    }
  }

  private static void insert(Connection connection, OrderPlaced order) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO placed_order VALUES (?, ?, ?)")) {
      insert.setString(1, order.order());
      insert.setString(2, order.customer());
      insert.setLong(3, order.cents());
      insert.executeUpdate();
    }
  }

  @Override
  public void close() {
    pool.close();
  }
}
