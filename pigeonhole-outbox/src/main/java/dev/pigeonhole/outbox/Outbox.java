package dev.pigeonhole.outbox;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
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
   *     PH-PAY-02} if it is too large, {@code PH-ID-08} if its id is taken by other content, and
   *     with the code of what else is wrong with it. Nothing was staged
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
    if (messages.size() < 2) {
      return stageAll(connection, messages); // one is staged, or not
    }
    Savepoint before = savepoint(connection);
    try {
      List<String> ids = stageAll(connection, messages);
      release(connection, before);
      return ids;
    } catch (StoreException e) {
      throw e; // the whole transaction is to be rolled back
    } catch (RuntimeException e) {
      undo(connection, before, e);
      throw e;
    }
  }

  private List<String> stageAll(Connection connection, List<Message> messages) {
    String[] answers = new String[messages.size()];
    List<Message> toRelay = new ArrayList<>();
    List<Integer> places = new ArrayList<>();
    for (int i = 0; i < messages.size(); i++) {
      Message message = complete(messages.get(i));
      Publisher shortcut = routes.shortcut(message);
      if (shortcut != null) {
        answers[i] = shortcut.publish(connection, message);
      } else {
        toRelay.add(message);
        places.add(i);
      }
    }
    for (int from = 0; from < toRelay.size(); from += CHUNK) {
      int to = Math.min(from + CHUNK, toRelay.size());
      List<String> staged = stage(connection, toRelay.subList(from, to));
      for (int i = from; i < to; i++) {
        answers[places.get(i)] = staged.get(i - from);
      }
    }
    return List.of(answers);
  }

  /**
   * Null where there can be none, in autocommit mode or on a broken connection: what comes next
   * says so better.
   */
  private static @Nullable Savepoint savepoint(Connection connection) {
    try {
      return connection.getAutoCommit() ? null : connection.setSavepoint();
    } catch (SQLException e) {
      return null;
    }
  }

  private static void release(Connection connection, @Nullable Savepoint savepoint) {
    try {
      if (savepoint != null) {
        connection.releaseSavepoint(savepoint);
      }
    } catch (SQLException e) {
      throw lost(e);
    }
  }

  private static void undo(
      Connection connection, @Nullable Savepoint savepoint, RuntimeException why) {
    try {
      if (savepoint != null) {
        connection.rollback(savepoint);
        connection.releaseSavepoint(savepoint);
      }
    } catch (SQLException e) {
      StoreException lost = lost(e);
      lost.addSuppressed(why);
      throw lost;
    }
  }

  private static StoreException lost(SQLException e) {
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        ErrorCode.DATABASE_TRANSIENT,
        "The savepoint before what is published together is gone, so some of it may be staged. Roll"
            + " back.",
        e);
  }

  private Message complete(Message message) {
    String id = message.id();
    Message named = id == null || id.isEmpty() ? message.id(ids.next()) : message;
    return named.source().isPresent() ? named : named.from(name);
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
