package dev.pigeonhole.examples;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import javax.sql.DataSource;

/** An inbox in a file. Start it twice: the second time the message is known. */
public final class QuickStart {

  private QuickStart() {}

  public static void main(String[] args) throws InterruptedException {
    DataSource database = ExampleDatabase.open(args, "quick-start");
    Schema.migrate(database);

    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("reserve-stock", order -> System.out.println("reserved " + order.order()))
            .handle("send-receipt", order -> System.out.println("receipt to " + order.customer()))
            .build();

    Inbox inbox = Inbox.on(JdbcStore.of(database)).channel(orders).build();

    try (RunningInbox running = inbox.start()) {
      Message message = Message.of("m-1", new OrderPlaced("o-1", "ada", 999));
      System.out.println(inbox.accept("orders", message)); // Accepted: now it is safe
      System.out.println(inbox.accept("orders", message)); // Repeat: no handler sees it again
      running.awaitStopped();
    }
  }
}
