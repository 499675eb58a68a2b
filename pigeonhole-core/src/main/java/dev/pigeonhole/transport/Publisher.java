package dev.pigeonhole.transport;

import dev.pigeonhole.Message;
import dev.pigeonhole.store.InboxStore;
import java.sql.Connection;
import java.util.List;
import java.util.function.Supplier;

/**
 * Takes messages in the transaction of whoever publishes them: an outbox, or a channel of an inbox
 * in the same database. Safe for many threads.
 */
public interface Publisher {

  /**
   * Stages a message in the transaction of this connection, which the caller commits. Nothing of it
   * is seen by anybody before that, and nothing of it is left after a rollback.
   *
   * @return the id that it goes by from now on, however often it is sent
   * @throws dev.pigeonhole.store.StoreException if the database refuses, or with {@code PH-TX-06}
   *     if the connection is in autocommit mode. Roll back then
   * @throws dev.pigeonhole.InboxException if the message cannot go out: nobody is to get it, it is
   *     too large, or the like. Nothing was staged, and the transaction can go on
   */
  String publish(Connection connection, Message message);

  /**
   * The same for several, in the order of the list: all of them are staged, or, if one is refused,
   * none.
   */
  default List<String> publish(Connection connection, List<Message> messages) {
    return allOrNone(
        connection, () -> messages.stream().map(each -> publish(connection, each)).toList());
  }

  /**
   * Stages several messages in as many steps as it takes, and leaves nothing of them if one is
   * refused; for publishers. It costs a savepoint.
   */
  static <T> T allOrNone(Connection connection, Supplier<T> staging) {
    return AllOrNone.run(connection, staging);
  }

  /**
   * The message with what this one gives every message on its way in, such as a trace context; what
   * it has already stays. Asked while the code that publishes runs, which may be before {@link
   * #publish} is.
   */
  default Message stamped(Message message) {
    return message;
  }

  /** Whether transactions of that store are also its own: both are in the same database. */
  boolean commitsWith(InboxStore store);

  /** Looks for what was published now, in this process; after a commit. */
  void wake();
}
