package dev.pigeonhole;

import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Publisher;
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
 *
 * <p>Safe for many threads.
 */
public interface Inbox {

  /** Starts to describe an inbox on a store. */
  static InboxBuilder on(InboxStore store) {
    return new InboxBuilder(store);
  }

  /** What {@link InboxBuilder#named} was given. */
  String name();

  /**
   * Accepts one message durably. Calls from several threads share commits.
   *
   * @throws dev.pigeonhole.store.StoreException if the store cannot say that it has the message: do
   *     not acknowledge, let it come again
   * @throws InboxException with {@code PH-CFG-17} if the inbox has no such channel
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
   * @throws InboxException with {@code PH-CFG-17} if the inbox has no such channel
   */
  List<Acceptance> accept(String channel, List<Message> messages);

  /**
   * Accepts inside the caller's transaction, which decides: nothing is committed here. Call {@link
   * #wake()} after the commit, or polling finds the message, by default within a second.
   *
   * <p>After {@link Acceptance.Unfinished} the transaction may still be used. Roll back if it holds
   * writes of yours, for the message comes again, and you write them then; commit if it holds none,
   * and only the handlers that have not finished run then.
   *
   * @throws dev.pigeonhole.store.StoreException if the database refuses, or with {@code PH-TX-06}
   *     if the connection is in autocommit mode, or with {@code PH-TX-07} if the store takes part
   *     in no transaction. Roll back then
   * @throws InboxException with {@code PH-CFG-17} if the inbox has no such channel
   */
  Acceptance accept(Connection connection, String channel, Message message);

  /** As above, for a batch. */
  List<Acceptance> accept(Connection connection, String channel, List<Message> messages);

  /**
   * Where a transport hands in what it received for a channel; the channel's mapper makes messages
   * of it. The sources of a running inbox have it already: this is for listeners and endpoints that
   * somebody else starts. Like {@link #accept(String, List)}, it works without {@link #start()}.
   *
   * @throws InboxException with {@code PH-CFG-17} if the inbox has no such channel
   */
  Acceptor acceptor(String channel);

  /**
   * Returns a publisher into this channel, for an outbox in the same database. The channel accepts
   * the published messages in the transaction of the publisher. Whatever its options are, a
   * published message is rejected with {@code PH-KEY-09} if no handler takes its type, and with
   * {@code PH-ID-08} if its id is taken by other content or another type, because a publisher does
   * not read verdicts.
   *
   * @throws InboxException with {@code PH-OBX-05} if nothing would be stored: the inbox has no such
   *     channel, or one with {@link HandlerOption#inline} handlers
   */
  Publisher publisher(String channel);

  /**
   * Whether transactions of that store are also its own, as of {@link Publisher#commitsWith}: for
   * {@link #accept(Connection, String, List)} with connections of that store's database.
   */
  boolean commitsWith(InboxStore store);

  /** Looks for new work now, in this process. */
  void wake();

  /**
   * Begins to handle messages in the background, then starts the sources.
   *
   * @throws InboxException with {@code PH-RUN-02} if it is running already
   * @throws dev.pigeonhole.store.StoreException if the store cannot be reached. What a source
   *     throws passes through as well; nothing is left running then
   */
  RunningInbox start();

  /**
   * Without {@link #start()}: runs everything that is due on the calling thread, one after the
   * other, until nothing is, and answers how many attempts that took. Timeouts of handlers, the
   * executor and the sources have no effect here.
   *
   * @throws InboxException with {@code PH-RUN-02} if the inbox is running
   * @throws dev.pigeonhole.store.StoreException if the store cannot be reached, or takes so long
   *     for each heartbeat that no attempt may start after it
   */
  int drain();

  /** The delivery of a message to a handler, by current or former key. */
  Optional<DeliveryView> find(String source, String id, String handler);

  /**
   * Seeing and repairing. Say who does it with {@link InboxAdmin#as}; without it changes are
   * audited as {@code application}.
   */
  InboxAdmin admin();
}
