package dev.pigeonhole.examples.demo;

import static dev.pigeonhole.HandlerOption.unordered;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Received;
import dev.pigeonhole.examples.OrderPlaced;
import dev.pigeonhole.examples.demo.Options.Mode;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;

/** The four handlers of an order. Each leaves an effect that the checker finds without our help. */
final class Handlers {

  static final String CHANNEL = "orders";

  static final String STOCK = "reserve-stock";
  static final String LEDGER = "post-to-ledger";
  static final String RECEIPT = "send-receipt";
  static final String WAREHOUSE = "notify-warehouse";

  /** All keys, in the order of the report. */
  static final List<String> KEYS = List.of(STOCK, LEDGER, RECEIPT, WAREHOUSE);

  /** No unique constraint: a second posting shall be seen, not prevented. */
  static final String LEDGER_TABLE =
      "CREATE TABLE ledger_entry (order_id varchar(40) NOT NULL, customer varchar(40) NOT NULL,"
          + " cents bigint NOT NULL)";

  /** Says how often a copy has come back from inline handlers; not there for the first time. */
  static final String RETURNS = "returns";

  private final Plan plan;
  private final EffectLog effects;
  private final EffectLog attempts;

  Handlers(Plan plan, Path directory) throws IOException {
    this.plan = plan;
    this.effects = new EffectLog(effects(directory));
    this.attempts = new EffectLog(attempts(directory));
  }

  static Path effects(Path directory) {
    return directory.resolve("effects.log");
  }

  static Path attempts(Path directory) {
    return directory.resolve("attempts.log");
  }

  Channel channel(Mode mode) {
    ChannelBuilder channel = Channel.named(CHANNEL);
    return (mode == Mode.INLINE ? channel.inline() : channel)
        .on(OrderPlaced.class)
        .orderedBy(OrderPlaced::customer)
        .handleMessage(STOCK, this::leaveEffect, unordered())
        .handleInTransaction(LEDGER, this::postToLedger, unordered())
        .handleMessage(RECEIPT, this::sendReceipt, unordered())
        .handleMessage(WAREHOUSE, this::leaveEffect)
        .build();
  }

  private void leaveEffect(Received<OrderPlaced> received) throws IOException {
    int number = begin(received);
    effects.append(received.handler(), number);
  }

  private void postToLedger(OrderPlaced order, HandlerTransaction<OrderPlaced> tx)
      throws IOException, SQLException {
    begin(tx.delivery());
    Connection connection = tx.connection();
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO ledger_entry VALUES (?, ?, ?)")) {
      insert.setString(1, order.order());
      insert.setString(2, order.customer());
      insert.setLong(3, order.cents());
      insert.executeUpdate();
    }
  }

  private void sendReceipt(Received<OrderPlaced> received) throws IOException {
    int number = begin(received);
    if (plan.isPoisonous(number)) {
      throw new IllegalStateException("no printer understands " + received.payload().order());
    }
    if (received.attempt() + returns(received) <= plan.failures(number)) {
      throw new IOException("the mail server is busy");
    }
    effects.append(received.handler(), number);
  }

  /** Where retries are the source's, it counts them too: to an inline handler each is the first. */
  private static int returns(Received<OrderPlaced> received) {
    return received.headers().get(RETURNS) instanceof Number returns ? returns.intValue() : 0;
  }

  private int begin(Received<OrderPlaced> received) throws IOException {
    int number = Plan.number(received.payload().order());
    attempts.note(received.handler(), number);
    return number;
  }
}
