package dev.pigeonhole.benchmarks.peers.springintegration;

import java.util.function.BooleanSupplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.jdbc.metadata.JdbcMetadataStore;
import org.springframework.integration.jdbc.store.JdbcChannelMessageStore;
import org.springframework.integration.jdbc.store.channel.PostgresChannelMessageStoreQueryProvider;
import org.springframework.integration.support.MessageBuilder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.messaging.Message;
import org.springframework.transaction.support.TransactionTemplate;

/** The two stores of Spring Integration over one pool, and transactions that they both join. */
final class Stores {

  static final String ID = "messageId";
  private static final String GROUP = "handler";

  private final JdbcMetadataStore markers;
  private final JdbcChannelMessageStore queue;
  private final TransactionTemplate transactions;

  Stores(DataSource pool) {
    markers = new JdbcMetadataStore(pool);
    markers.afterPropertiesSet();
    markers.start();
    queue = new JdbcChannelMessageStore(pool);
    queue.setChannelMessageStoreQueryProvider(new PostgresChannelMessageStoreQueryProvider());
    queue.setSerializer(PlainMessages::write);
    queue.setDeserializer(PlainMessages::read);
    queue.afterPropertiesSet();
    queue.start();
    transactions = new TransactionTemplate(new JdbcTransactionManager(pool));
  }

  boolean inTransaction(BooleanSupplier work) {
    return Boolean.TRUE.equals(transactions.execute(status -> work.getAsBoolean()));
  }

  /** Whether it is the first of its id. */
  boolean mark(String id) {
    return markers.putIfAbsent(GROUP + ":" + id, "1") == null;
  }

  void add(String id, byte[] payload) {
    queue.addMessageToGroup(GROUP, MessageBuilder.withPayload(payload).setHeader(ID, id).build());
  }

  /** Removes the oldest message that no other transaction has. */
  @Nullable Message<?> poll() {
    return queue.pollMessageFromGroup(GROUP);
  }
}
