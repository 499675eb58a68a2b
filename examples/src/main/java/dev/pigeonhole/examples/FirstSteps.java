package dev.pigeonhole.examples;

// snippet:first-steps
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.io.IOException;

public class FirstSteps {
  record OrderPlaced(String order, String customer) {}

  public static void main(String[] args) throws IOException {
    String file = args.length > 0 ? args[0] : "./target/first-steps";
    HikariDataSource dataSource = new HikariDataSource();
    // By default H2 writes half a second after a commit; a crash would lose that.
    dataSource.setJdbcUrl("jdbc:h2:file:" + file + ";WRITE_DELAY=0");
    Schema.migrate(dataSource);

    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("reserve-stock", order -> System.out.println("reserved " + order.order()))
            .handle("send-receipt", order -> System.out.println("receipt to " + order.customer()))
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();

    try (RunningInbox running = inbox.start()) {
      Message message = Message.of("m-1", new OrderPlaced("o-1", "ada"));
      System.out.println(inbox.accept("orders", message)); // Accepted: now it is safe
      System.out.println(inbox.accept("orders", message)); // Repeat: no handler sees it again
      System.in.read(); // press Enter to end it; a service calls running.awaitStopped()
    }
  }
}
// end
