package dev.pigeonhole.proofs;

import com.rabbitmq.client.ConnectionFactory;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.outbox.Route;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * A process that sends on what an outbox holds. Arguments: JDBC address, user, password, port of
 * the broker, and queue.
 */
public final class RelayWorker {
  private static final Duration BEAT = Duration.ofMillis(500);

  private RelayWorker() {}

  public static void main(String[] args) throws Exception {
    ParentWatch.install();
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(Integer.parseInt(args[3]));
    Transport queue = RabbitTransport.queue(factory, args[4]);
    try (HikariDataSource pool = database.pool(8);
        RunningInbox running = outbox(pool, new ObservedTransport(queue)).start()) {
      System.out.println("READY");
      running.awaitStopped();
    }
  }

  /** The same for those that only publish. */
  static Outbox outbox(DataSource database, Transport transport) {
    return Outbox.on(JdbcStore.of(database))
        .named("shop")
        .route(Route.of(String.class).named(SourceWorker.TYPE), transport)
        .beats(BEAT, BEAT.multipliedBy(4))
        .concurrency(1) // so that what it says comes in order
        .maxBatch(10)
        .build();
  }
}
