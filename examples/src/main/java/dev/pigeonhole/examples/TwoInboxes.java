package dev.pigeonhole.examples;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.Published;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;

/** One application, two databases: each part of it keeps the messages where it keeps its data. */
public final class TwoInboxes {

  private TwoInboxes() {}

  public static void main(String[] args) throws InterruptedException {
    DataSource sales = ExampleDatabase.open(args, "sales");
    DataSource shipping = ExampleDatabase.open("./target/examples/shipping");
    run(sales, shipping).forEach(System.out::println);
  }

  /** Answers what was done with one order. */
  static List<String> run(DataSource sales, DataSource shipping) throws InterruptedException {
    Schema.migrate(sales);
    Schema.migrate(shipping);
    List<String> log = new CopyOnWriteArrayList<>();
    CountDownLatch left = new CountDownLatch(2);

    Channel receipts =
        Channel.named("receipts")
            .on(OrderPlaced.class)
            .handle(
                "send-receipt",
                order -> {
                  log.add("receipt for " + order.order());
                  left.countDown();
                })
            .build();
    Channel parcels =
        Channel.named("parcels")
            .on(OrderPlaced.class)
            .handle(
                "pack-parcel",
                order -> {
                  log.add("parcel for " + order.order());
                  left.countDown();
                })
            .build();

    Inbox salesInbox = Inbox.on(JdbcStore.of(sales)).named("sales").channel(receipts).build();
    Inbox shippingInbox =
        Inbox.on(JdbcStore.of(shipping)).named("shipping").channel(parcels).build();

    Pigeonhole shop = Pigeonhole.of(salesInbox, shippingInbox).build();

    try (RunningInbox running = shop.start()) {
      Published published = shop.publish(Message.of("m-1", new OrderPlaced("o-1", "ada", 999)));
      published.answers().forEach(answer -> log.add("accepted by " + answer.inbox()));
      left.await();
    }
    return log;
  }
}
