package dev.pigeonhole.proofs;

import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.util.HashSet;
import java.util.Set;

/**
 * An outbox before a queue of RabbitMQ: what is confirmed to the producer is the commit of its
 * transaction. Copies go straight to the queue, for an outbox would know them.
 */
final class OutboxBroker implements SourceBroker {
  private final RabbitBroker rabbit;
  private final TestDatabase database;
  private final Outbox outbox;
  private final Set<String> staged = new HashSet<>(); // of the thread that sends

  OutboxBroker(RabbitBroker rabbit, DatabaseServer server) {
    this.rabbit = rabbit;
    this.database = server.emptySchema();
    Schema.migrate(database.dataSource());
    Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(database.dataSource());
    this.outbox =
        RelayWorker.outbox(
            database.dataSource(), RabbitTransport.queue(rabbit.factory(), rabbit.queue()));
  }

  @Override
  public void send(String id) throws Exception {
    if (staged.contains(id)) {
      rabbit.send(id);
      return;
    }
    try (Connection connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      outbox.publish(connection, Message.of(id, id));
      connection.commit();
    }
    staged.add(id);
  }

  /** A process that sends on what was published. */
  JavaProcess.Builder relay(int port) {
    return JavaProcess.of(RelayWorker.class)
        .args(database.jdbcUrl(), database.user(), database.password(), port, rabbit.queue());
  }

  RabbitBroker rabbit() {
    return rabbit;
  }

  @Override
  public JavaProcess.Builder worker(Object... first) {
    return rabbit.worker(first);
  }

  @Override
  public int consumers() {
    return rabbit.consumers();
  }

  /** First what is here: what goes on its way meanwhile is there then. */
  @Override
  public long left() {
    return Tables.count(database, "out_delivery")
        + Tables.count(database, "out_later")
        + Tables.count(database, "out_poison")
        + rabbit.left();
  }

  @Override
  public long aside() {
    return rabbit.aside();
  }

  @Override
  public void close() {
    rabbit.close();
    database.close();
  }
}
