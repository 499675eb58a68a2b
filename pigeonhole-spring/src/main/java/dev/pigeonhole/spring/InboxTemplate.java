package dev.pigeonhole.spring;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import java.util.List;
import java.util.Objects;

/**
 * Accepts messages in the transaction of the caller: inside a {@code @Transactional} method they
 * are accepted if, and only if, it commits, and handlers are woken after that. Outside of one they
 * are accepted at once, as by {@link Inbox#accept(String, Message)}, which always has a transaction
 * of its own. Safe for many threads.
 */
public final class InboxTemplate {
  private final Inbox inbox;
  private final JoinedTransaction joined;

  private InboxTemplate(Inbox inbox, JoinedTransaction joined) {
    this.inbox = inbox;
    this.joined = joined;
  }

  /**
   * For an inbox and the store that it was built on.
   *
   * @param store tells which DataSource a transaction has to be of
   */
  public static InboxTemplate of(Inbox inbox, JdbcStore store) {
    return new InboxTemplate(
        Objects.requireNonNull(inbox, "inbox"), new JoinedTransaction(store.dataSource()));
  }

  /**
   * Accepts one message, in the caller's transaction if there is one. Acknowledge to whoever sent
   * it only after that has committed.
   *
   * @throws dev.pigeonhole.store.StoreException if the store cannot take it, or with {@code
   *     PH-TX-10} if the caller's transaction is one of another DataSource
   * @throws dev.pigeonhole.InboxException with {@code PH-CFG-17} if the inbox has no such channel
   */
  public Acceptance accept(String channel, Message message) {
    return accept(channel, List.of(message)).get(0);
  }

  /** The same for several; answers in the order of the list. */
  public List<Acceptance> accept(String channel, List<Message> messages) {
    if (!joined.active("the inbox '" + inbox.name() + "'")) {
      return inbox.accept(channel, messages);
    }
    List<Acceptance> answers = joined.on(connection -> inbox.accept(connection, channel, messages));
    joined.afterCommit(inbox, inbox::wake);
    return answers;
  }
}
