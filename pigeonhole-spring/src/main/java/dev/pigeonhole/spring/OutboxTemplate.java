package dev.pigeonhole.spring;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Publisher;
import java.util.List;

/**
 * Publishes messages in the transaction of the caller: they go out if, and only if, the
 * {@code @Transactional} method commits. Outside of one nothing could commit together with them, so
 * that is refused. Safe for many threads.
 */
public final class OutboxTemplate {
  private final Publisher outbox;
  private final JoinedTransaction joined;

  private OutboxTemplate(Publisher outbox, JoinedTransaction joined) {
    this.outbox = outbox;
    this.joined = joined;
  }

  /**
   * For an outbox, or a channel of an inbox, and the store that it is on.
   *
   * @param store tells which DataSource a transaction has to be of
   * @throws ConfigurationException with {@code PH-OBX-02} if the outbox is in another database
   */
  public static OutboxTemplate of(Publisher outbox, JdbcStore store) {
    if (!outbox.commitsWith(store)) {
      throw new ConfigurationException(
          ErrorCode.OUTBOX_MISSING,
          "The outbox is in another database than the store of its OutboxTemplate, so what is"
              + " published would be stored where nobody sends it. Give OutboxTemplate.of the store"
              + " that the outbox is built on.");
    }
    return new OutboxTemplate(outbox, new JoinedTransaction(store.dataSource()));
  }

  /**
   * Stages a message in the caller's transaction.
   *
   * @return the id it goes by
   * @throws StoreException with {@code PH-TX-06} without a transaction, or in one that is read-only
   *     or has ended, with {@code PH-TX-10} in one of another DataSource, or if the database
   *     refuses
   * @throws dev.pigeonhole.InboxException if it cannot go out
   */
  public String publish(Message message) {
    return publish(List.of(message)).get(0);
  }

  /** The same for several, in the order of the list. */
  public List<String> publish(List<Message> messages) {
    if (!joined.active("the outbox")) {
      throw new StoreException(
          StoreException.Kind.PERMANENT,
          ErrorCode.TX_REQUIRED,
          "There is no transaction to publish in. Call it from a @Transactional method, so that the"
              + " message goes out if, and only if, what it tells of was committed.",
          null);
    }
    List<String> ids = joined.on(connection -> outbox.publish(connection, messages));
    joined.afterCommit(outbox, outbox::wake);
    return ids;
  }
}
