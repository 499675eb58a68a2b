package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import org.jspecify.annotations.Nullable;

/** What must hold of an outbox, wherever one is given. */
public final class Outboxes {
  private Outboxes() {}

  /**
   * Refuses one that could not commit together with what it is given to.
   *
   * @param whose it is, for people
   */
  public static void check(@Nullable Publisher outbox, InboxStore store, String whose) {
    if (outbox == null) {
      return;
    }
    if (store.transactions().isEmpty()) {
      throw new ConfigurationException(
          ErrorCode.TX_UNSUPPORTED,
          "%s has an outbox, and a store that takes part in no transaction. Use JdbcStore."
              .formatted(whose));
    }
    if (!outbox.commitsWith(store)) {
      throw new ConfigurationException(
          ErrorCode.OUTBOX_MISSING,
          ("%s has an outbox in another database, so receipts and outgoing messages could not commit"
                  + " together. Build both on the same DataSource.")
              .formatted(whose));
    }
  }

  /** For whoever publishes without one. */
  public static InboxException missing(String whose) {
    return new InboxException(
        ErrorCode.OUTBOX_MISSING,
        "%s publishes a message, and there is no outbox to take it. Build the inbox or guard with"
                .formatted(whose)
            + " .outbox(…).");
  }
}
