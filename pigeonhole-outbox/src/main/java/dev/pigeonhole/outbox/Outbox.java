package dev.pigeonhole.outbox;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Sends messages on that were staged in the transaction of whoever published them: they go out if
 * that commits, and only then, at least once, each time under the same id.
 *
 * <p>It is an inbox turned round: staging is accepting, and what hands messages to transports is a
 * handler for each route. So retries, poisoned deliveries, order, retention and administration are
 * those of an inbox.
 *
 * <pre>{@code
 * Outbox outbox =
 *     Outbox.on(store)
 *         .route(OrderPlaced.class, RabbitTransport.exchange(connectionFactory, "orders"))
 *         .into(Posted.class, ledgerInbox.publisher("postings"))
 *         .build();
 *
 * String id = outbox.publish(connection, Message.of(new OrderPlaced("o-1", "c-1")));
 * }</pre>
 *
 * <p>Publishing works as soon as it is built; sending starts with {@link #start()}, or by hand with
 * {@link #drain()}. Safe for many threads.
 */
public final class Outbox implements Publisher {
  /** How many are staged with one statement. */
  private static final int CHUNK = 500;

  private final String name;
  private final InboxStore store;
  private final Routes routes;
  private final Inbox engine;
  private final Publisher staging;
  private final TimeOrderedIds ids;

  Outbox(String name, InboxStore store, Routes routes, Inbox engine) {
    this.name = name;
    this.store = store;
    this.routes = routes;
    this.engine = engine;
    this.staging = engine.publisher(name);
    this.ids = new TimeOrderedIds(store.clock());
  }

  /**
   * Starts to describe an outbox in the database of this store. It has tables of its own, whose
   * prefix goes on with {@code out_}: {@code pigeonhole_out_} by default. {@code Schema} makes
   * them.
   */
  public static OutboxBuilder on(JdbcStore store) {
    return new OutboxBuilder(store.beside("out_"));
  }

  /** What {@link OutboxBuilder#named} was given. */
  public String name() {
    return name;
  }

  /**
   * Stages a message in the transaction of this connection, which the caller commits. Without an id
   * it gets one, a UUID of version 7. Publishing the same id again changes nothing.
   *
   * @throws InboxException with {@code PH-OBX-01} if there is no route for its type, {@code
   *     PH-KEY-07} or {@code PH-KEY-09} if its route leads into a channel without a handler for it,
   *     {@code PH-PAY-02} if it is too large, {@code PH-ID-08} if its id is taken by other content
   *     or another type, and with the code of what else is wrong with it. Nothing was staged
   */
  @Override
  public String publish(Connection connection, Message message) {
    return publish(connection, List.of(message)).get(0);
  }

  /**
   * The same for several, in the order of the list: all of them are staged, or, if one is refused,
   * none.
   */
  @Override
  public List<String> publish(Connection connection, List<Message> messages) {
    if (messages.isEmpty()) {
      return List.of();
    }
    List<Share> shares = shares(messages);
    String[] answers = new String[messages.size()];
    if (shares.size() == 1) { // whoever takes it takes all of it, or nothing
      stage(connection, shares.get(0), answers);
      return List.of(answers);
    }
    return Publisher.allOrNone(
        connection,
        () -> {
          shares.forEach(each -> stage(connection, each, answers));
          return List.of(answers);
        });
  }

  /** What is staged with one call, and the places of it in what was published. */
  private record Share(@Nullable Publisher shortcut, List<Message> messages, List<Integer> places) {
    Share(@Nullable Publisher shortcut) {
      this(shortcut, new ArrayList<>(), new ArrayList<>());
    }
  }

  private List<Share> shares(List<Message> messages) {
    List<Share> shares = new ArrayList<>();
    Map<Optional<Publisher>, Share> open = new HashMap<>();
    for (int i = 0; i < messages.size(); i++) {
      Optional<Publisher> shortcut = Optional.ofNullable(routes.shortcut(messages.get(i)));
      Message message = complete(messages.get(i), shortcut.isEmpty());
      Share share = open.get(shortcut);
      if (share == null || share.messages().size() == CHUNK) {
        share = new Share(shortcut.orElse(null));
        open.put(shortcut, share);
        shares.add(share);
      }
      share.messages().add(message);
      share.places().add(i);
    }
    return shares;
  }

  private void stage(Connection connection, Share share, String[] answers) {
    Publisher shortcut = share.shortcut();
    List<String> staged =
        shortcut == null
            ? stage(connection, share.messages())
            : shortcut.publish(connection, share.messages());
    for (int i = 0; i < staged.size(); i++) {
      answers[share.places().get(i)] = staged.get(i);
    }
  }

  /** Id and source are decided here and stored: receivers tell a repeat by them. */
  private Message complete(Message message, boolean relayed) {
    String id = message.id();
    Message named = id == null || id.isEmpty() ? message.id(ids.next()) : message;
    if (named.source().isPresent()) {
      return named;
    }
    return named.from(relayed ? routes.source(named).orElse(name) : name);
  }

  private List<String> stage(Connection connection, List<Message> messages) {
    try {
      return staging.publish(connection, messages);
    } catch (InboxException e) {
      if (e.code() == ErrorCode.TYPE_NOT_REGISTERED || e.code() == ErrorCode.TYPE_UNHANDLED) {
        throw routes.unknown(name, messages, e);
      }
      throw e;
    }
  }

  @Override
  public Message stamped(Message message) {
    return staging.stamped(message);
  }

  @Override
  public boolean commitsWith(InboxStore other) {
    return store.sharesTransactionsWith(other);
  }

  @Override
  public void wake() {
    engine.wake();
    routes.wakeShortcuts();
  }

  /**
   * Begins to send in the background. Closing the answer is a graceful stop: what is being sent may
   * end, the rest stays staged, and transports give back what they have opened.
   *
   * @throws InboxException with {@code PH-RUN-02} if it is running already
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public RunningInbox start() {
    return new RunningOutbox(engine.start(), routes);
  }

  /**
   * Without {@link #start()}: sends everything that is due on the calling thread, and answers how
   * many attempts that took.
   *
   * @throws InboxException with {@code PH-RUN-02} if the outbox is running
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public int drain() {
    boolean ours = true;
    try {
      return engine.drain();
    } catch (InboxException e) {
      ours = e.code() != ErrorCode.INBOX_RUNNING; // else those who run use the transports
      throw e;
    } finally {
      if (ours) {
        routes.close();
      }
    }
  }

  /**
   * Seeing and repairing: handlers are routes, and their keys the names of the types. Say who does
   * it with {@link InboxAdmin#as}.
   */
  public InboxAdmin admin() {
    return engine.admin();
  }
}
