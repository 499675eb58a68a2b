package dev.pigeonhole.examples.docs;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** The little world that the snippets of the documentation live in. */
final class Shop {
  private Shop() {}

  record OrderPlaced(String order, String customer) {}

  record PaymentReceived(String reference, String account, long cents) {}

  /** Sends mail, unless it was told to fail. */
  static final class Mailer {
    final List<String> sent = new CopyOnWriteArrayList<>();
    private final AtomicInteger failures = new AtomicInteger();

    void failTimes(int times) {
      failures.set(times);
    }

    void sendReceipt(OrderPlaced order) {
      if (failures.getAndDecrement() > 0) {
        throw new IllegalStateException("the mail server is down");
      }
      sent.add(order.order());
    }
  }

  /** Writes reservations through the connection that it is given. */
  static final class Stock {
    void reserve(Connection connection, OrderPlaced order) throws SQLException {
      try (PreparedStatement insert =
          connection.prepareStatement("INSERT INTO reservation (order_id) VALUES (?)")) {
        insert.setString(1, order.order());
        insert.executeUpdate();
      }
    }
  }

  /** A payment service that keeps the promise of idempotency keys. */
  static final class Payments {
    final List<String> keys = new CopyOnWriteArrayList<>();

    void charge(String account, long cents, String idempotencyKey) {
      if (!keys.contains(idempotencyKey)) {
        keys.add(idempotencyKey);
      }
    }
  }
}
