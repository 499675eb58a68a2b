package dev.pigeonhole.spring;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import java.util.List;

/**
 * Accepts messages in the transaction of the caller: inside a {@code @Transactional} method they
 * are accepted if, and only if, it commits, and handlers are woken after that. Outside of one they
 * are accepted at once, as by {@link Inbox#accept(String, Message)}, which always has a transaction
 * of its own. Safe for many threads.
 *
 * <p>A caller who is answered {@link Acceptance.Unfinished} has to roll back: a commit is refused
 * with {@code PH-TX-09}, for JPA may hold what the failed handler wants to write, and would write
 * it without a receipt. Where all of it is {@code PH-GRD-04}, nothing has run, and it may commit.
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
   * @throws ConfigurationException with {@code PH-TX-10} if the inbox is in another database
   */
  public static InboxTemplate of(Inbox inbox, JdbcStore store) {
    if (!inbox.commitsWith(store)) {
      throw new ConfigurationException(
          ErrorCode.TX_MANAGER_FOREIGN,
          ("The inbox '%s' is in another database than the store of its InboxTemplate, so what is"
                  + " accepted would be stored where nobody reads it. Give InboxTemplate.of the"
                  + " store that the inbox is built on.")
              .formatted(inbox.name()));
    }
    return new InboxTemplate(inbox, new JoinedTransaction(store.dataSource()));
  }

  /**
   * Accepts one message, in the caller's transaction if there is one. Acknowledge to whoever sent
   * it only after that has committed.
   *
   * @throws dev.pigeonhole.store.StoreException if the store cannot take it, or with {@code
   *     PH-TX-10} if the caller's transaction is one of another DataSource, or with {@code
   *     PH-TX-06} if it is read-only, or has ended, as in what runs after the commit. Let it roll
   *     back
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
    List<Acceptance> answers;
    try {
      answers = joined.on(connection -> inbox.accept(connection, channel, messages));
    } catch (StoreException | Error e) {
      joined.refuseCommit(InboxTemplate::unfinished);
      throw e;
    }
    if (answers.stream().anyMatch(InboxTemplate::hasFailed)) {
      joined.refuseCommit(InboxTemplate::unfinished);
    }
    joined.afterCommit(inbox, inbox::wake);
    return answers;
  }

  /** Whether a handler has thrown something; one that was busy has not run. */
  private static boolean hasFailed(Acceptance answer) {
    return answer instanceof Acceptance.Unfinished unfinished
        && unfinished.failures().values().stream().anyMatch(each -> !each.stack().isEmpty());
  }

  private static InboxException unfinished() {
    return new InboxException(
        ErrorCode.TX_ROLLBACK_ONLY,
        "A message that was accepted in this transaction is not finished, so nothing was committed:"
            + " what its handler has left behind, in JPA for one, would be written without its"
            + " receipt. Roll back after Acceptance.Unfinished, and let the message come again.");
  }
}
