package dev.pigeonhole.proofs;

import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.rabbitmq.RabbitSource;

/**
 * A worker process that receives from RabbitMQ. Arguments: JDBC address, user, password, port of
 * the broker, queue, and the exchange for what is put aside.
 */
public final class RabbitWorker {
  private static final int HEARTBEAT_SECONDS = 1;

  private RabbitWorker() {}

  public static void main(String[] args) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(Integer.parseInt(args[SourceWorker.ARGUMENTS]));
    // So that a half-open link need not last for long.
    factory.setRequestedHeartbeat(HEARTBEAT_SECONDS);
    RabbitSource source =
        RabbitSource.queue(factory, args[SourceWorker.ARGUMENTS + 1])
            .deadLetters(args[SourceWorker.ARGUMENTS + 2]);
    SourceWorker.work(args, source, source::trouble);
  }
}
