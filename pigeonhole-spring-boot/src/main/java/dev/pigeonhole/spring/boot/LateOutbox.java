package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.util.List;
import org.springframework.beans.factory.ObjectProvider;

/**
 * The outbox of the application, looked up when a handler publishes. Its routes may lead into the
 * inbox, which then has to be there first; so the inbox cannot wait for the outbox.
 */
record LateOutbox(ObjectProvider<Outbox> outbox, JdbcStore store) implements Publisher {

  @Override
  public String publish(Connection connection, Message message) {
    return outbox.getObject().publish(connection, message);
  }

  @Override
  public List<String> publish(Connection connection, List<Message> messages) {
    return outbox.getObject().publish(connection, messages);
  }

  @Override
  public Message stamped(Message message) {
    return outbox.getObject().stamped(message);
  }

  /** An outbox of the user's own that is elsewhere is found by {@link #check}. */
  @Override
  public boolean commitsWith(InboxStore other) {
    return store.sharesTransactionsWith(other);
  }

  @Override
  public void wake() {
    outbox.getObject().wake();
  }

  static void check(Outbox outbox, JdbcStore store) {
    if (!outbox.commitsWith(store)) {
      throw new ConfigurationException(
          ErrorCode.OUTBOX_MISSING,
          ("Outbox '%s' is in another database than the inbox, so receipts and outgoing messages"
                  + " could not commit together. Build both on the same DataSource.")
              .formatted(outbox.name()));
    }
  }
}
