package dev.pigeonhole.examples.orders.plain;

import static dev.pigeonhole.HandlerOption.perSecond;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.micrometer.InboxMetrics;
import dev.pigeonhole.micrometer.ProcessObservations;
import dev.pigeonhole.outbox.Outbox;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;

/** Builds the parts, puts them together and starts them; the README says what to ask it. */
public final class PlainOrders {

  private PlainOrders() {}

  public static void main(String[] args) throws IOException, SQLException {
    if (List.of(args).contains("--help")) {
      System.out.println(Settings.USAGE);
      return;
    }
    Settings settings;
    try {
      settings = Settings.of(args);
    } catch (IllegalArgumentException e) {
      System.err.println("plain-orders: " + e.getMessage());
      System.err.println("Try: examples/plain-orders/run --help");
      System.exit(2);
      return;
    }
    start(settings);
  }

  private static void start(Settings settings) throws IOException, SQLException {
    HikariDataSource database = pool(settings);
    Schema.migrate(database);
    Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(database);
    OrderTables tables = OrderTables.in(database);
    PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    InboxMetrics metrics = InboxMetrics.to(meters);

    // snippet:plain-orders
    Channel orders =
        Channel.named("orders")
            .on(Order.class)
            .handleInTransaction(
                "write-invoice", (order, tx) -> tables.invoice(tx.connection(), order))
            .handleInTransaction(
                "reserve-stock",
                (order, tx) -> tables.reserve(tx.connection(), order),
                perSecond(settings.stockPerSecond()))
            .build();
    JdbcStore store = JdbcStore.of(database);
    Inbox inbox =
        Inbox.on(store)
            .channel(orders)
            .concurrency(4)
            .listener(metrics)
            .around(ProcessObservations.in(meters))
            .build();
    Outbox outbox = Outbox.on(store).into(Order.class, inbox.publisher("orders")).build();
    Guard guard = Guard.on(store).outbox(outbox).listener(metrics).build();
    // end

    metrics.watch(inbox);
    RunningInbox running = inbox.start();
    OrderServer server =
        OrderServer.start(
            settings.port(), new OrderServer.Parts(tables, guard, inbox, running, meters));
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  server.close(); // first nobody brings anything any more
                  running.close();
                  guard.close();
                  database.close();
                },
                "stop"));
  }

  /** 4 for the inbox, 4 for each of its two handlers; the others are for requests. */
  private static HikariDataSource pool(Settings settings) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(settings.url());
    config.setUsername(settings.user());
    config.setPassword(settings.password());
    config.setMaximumPoolSize(20);
    return new HikariDataSource(config);
  }
}
