package dev.pigeonhole.examples;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;

/**
 * A handler whose writes commit together with its receipt. Its first attempt writes and then fails;
 * that write is rolled back, and the ledger has one entry in the end.
 */
public final class TransactionalLedger {

  private final CountDownLatch posted = new CountDownLatch(1);

  private TransactionalLedger() {}

  public static void main(String[] args) throws Exception {
    System.out.println(run(ExampleDatabase.open(args, "ledger")) + " entry for o-1");
  }

  /** Answers how many entries the order has. */
  static long run(DataSource database) throws SQLException, InterruptedException {
    Schema.migrate(database);
    execute(database, "CREATE TABLE IF NOT EXISTS ledger (order_id varchar(40), cents bigint)");

    TransactionalLedger ledger = new TransactionalLedger();
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleInTransaction("post-to-ledger", ledger::post)
            .build();
    Inbox inbox =
        Inbox.on(JdbcStore.of(database))
            .channel(orders)
            .retry(RetryPolicy.fixed(Duration.ofMillis(50)))
            .build();
    inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "ada", 999)));
    RunningInbox running = inbox.start();
    ledger.posted.await();
    running.close();
    return entries(database);
  }

  private void post(OrderPlaced order, HandlerTransaction<OrderPlaced> tx) throws SQLException {
    try (PreparedStatement insert =
        tx.connection().prepareStatement("INSERT INTO ledger VALUES (?, ?)")) {
      insert.setString(1, order.order());
      insert.setLong(2, order.cents());
      insert.executeUpdate();
    }
    if (tx.delivery().attempt() == 1) {
      throw new IllegalStateException("too late: what was written is rolled back");
    }
    posted.countDown();
  }

  private static void execute(DataSource database, String sql) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static long entries(DataSource database) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement();
        ResultSet count = statement.executeQuery("SELECT count(*) FROM ledger")) {
      count.next();
      return count.getLong(1);
    }
  }
}
