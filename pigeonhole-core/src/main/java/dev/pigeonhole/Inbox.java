package dev.pigeonhole;

import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.store.InboxStore;
import java.sql.Connection;
import java.util.List;
import java.util.Optional;

/**
 * A durable inbox: every message handled, by every handler, once.
 *
 * <p>Accepting works as soon as the inbox is built; handling starts with {@link #start()}, or by
 * hand with {@link #drain()}. After {@code accept} has answered, every handler registered for the
 * message's type is invoked at least once, whatever process dies; a transactional handler's effects
 * happen exactly once. {@code docs/guarantees.md} says it in full.
 */
public interface Inbox {

  /** Starts to describe an inbox on a store. */
  static InboxBuilder on(InboxStore store) {
    return new InboxBuilder(store);
  }

  String name();

  /**
   * Accepts one message durably. Calls from several threads share commits.
   *
   * @throws dev.pigeonhole.store.StoreException if the store cannot say that it has the message: do
   *     not acknowledge, let it come again
   */
  Acceptance accept(String channel, Message message);

  /**
   * Accepts a batch; answers in the order of the list. Each message is stored together with all its
   * deliveries, and every one is durable when this returns. Messages that are all new usually share
   * one commit. That is a saving and no promise: repeats among them, a message that the database
   * refuses, or one that an open transaction holds up, are dealt with in commits of their own. For
   * all or nothing use {@link #accept(Connection, String, List)}.
   *
   * @throws dev.pigeonhole.store.StoreException if the store cannot say that it has all of them;
   *     some may be stored. Let the whole batch come again: what is stored answers {@link
   *     Acceptance.Repeat}
   */
  List<Acceptance> accept(String channel, List<Message> messages);

  /**
   * Accepts inside the caller's transaction, which decides: nothing is committed here. Call {@link
   * #wake()} after the commit, or polling finds the message, by default within a second.
   */
  Acceptance accept(Connection connection, String channel, Message message);

  /** As above, for a batch. */
  List<Acceptance> accept(Connection connection, String channel, List<Message> messages);

  /** Looks for new work now, in this process. */
  void wake();

  /** Begins to handle messages in the background. */
  RunningInbox start();

  /**
   * Without {@link #start()}: runs everything that is due on the calling thread, until nothing is,
   * and answers how many attempts that took.
   */
  int drain();

  /** The delivery of a message to a handler, by current or former key. */
  Optional<DeliveryView> find(String source, String id, String handler);

  /** Seeing and repairing. */
  InboxAdmin admin();
}
