package dev.pigeonhole.examples;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;

/** Customers side by side, each customer's orders one after the other. */
public final class OrderedByCustomer {

  private static final int ORDERS = 30;

  private OrderedByCustomer() {}

  public static void main(String[] args) throws InterruptedException {
    run(ExampleDatabase.open(args, "ordered"))
        .forEach(order -> System.out.println(order.customer() + " " + order.order()));
  }

  /** Answers the orders as they were handled. */
  static List<OrderPlaced> run(DataSource database) throws InterruptedException {
    Schema.migrate(database);
    List<OrderPlaced> handled = new CopyOnWriteArrayList<>();
    CountDownLatch left = new CountDownLatch(ORDERS);

    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .orderedBy(OrderPlaced::customer)
            .handle(
                "notify-warehouse",
                order -> {
                  handled.add(order);
                  left.countDown();
                })
            .build();

    Inbox inbox = Inbox.on(JdbcStore.of(database)).channel(orders).build();
    try (RunningInbox running = inbox.start()) {
      for (int i = 0; i < ORDERS; i++) {
        String customer = List.of("ada", "bob", "cleo").get(i % 3);
        inbox.accept("orders", Message.of("m-" + i, new OrderPlaced("o-" + i, customer, 100)));
      }
      left.await();
    }
    return handled;
  }
}
