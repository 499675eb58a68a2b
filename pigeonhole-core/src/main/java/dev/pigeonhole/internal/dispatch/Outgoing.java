package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.internal.registry.Outboxes;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one attempt publishes: at once where there is a transaction, and else with its receipt. A
 * handler may use it from threads of its own.
 */
final class Outgoing {
  private static final Logger LOG = LoggerFactory.getLogger(Outgoing.class);

  private final @Nullable Publisher publisher;
  private final Object lock = new Object(); // never held while the database is asked
  private final List<Message> waiting = new ArrayList<>(); // guarded by lock
  private boolean closed; // guarded by lock
  private boolean staged; // guarded by this
  private @Nullable StoreException failure; // guarded by this; the first

  /**
   * @param publisher null where there is none
   */
  Outgoing(@Nullable Publisher publisher) {
    this.publisher = publisher;
  }

  /** Keeps the message until the attempt ends; refuses what would be kept for nobody. */
  void add(Received<?> by, Message message) {
    Message outgoing = Causation.of(by, publisher(by).stamped(message));
    synchronized (lock) {
      if (closed) {
        throw new IllegalStateException(
            ("Handler '%s' publishes after its attempt has ended, so nothing could commit with it."
                    + " Publish before the handler returns, and wait for threads that do.")
                .formatted(by.handler()));
      }
      waiting.add(outgoing);
    }
  }

  /** How the attempt ends is decided: from now on nothing is taken. */
  void close() {
    synchronized (lock) {
      closed = true;
    }
  }

  /** Stages the message in this transaction. */
  String stage(Received<?> by, Connection connection, Message message) {
    Publisher to = publisher(by);
    return stage(to, connection, List.of(Causation.of(by, to.stamped(message)))).get(0);
  }

  /** Stages what was kept, all at once, and lets nobody commit who has swallowed a failure. */
  void stageAll(Received<?> by, Connection connection) {
    List<Message> all;
    synchronized (lock) {
      closed = true;
      all = List.copyOf(waiting);
    }
    if (!all.isEmpty()) {
      stage(publisher(by), connection, all);
    }
    StoreException first = failure();
    if (first != null) {
      throw first;
    }
  }

  private synchronized List<String> stage(
      Publisher to, Connection connection, List<Message> messages) {
    try {
      List<String> ids =
          messages.size() == 1
              ? List.of(to.publish(connection, messages.get(0)))
              : to.publish(connection, messages);
      staged = true;
      return ids;
    } catch (StoreException e) {
      failure = failure == null ? e : failure;
      throw e;
    }
  }

  private Publisher publisher(Received<?> by) {
    if (publisher == null) {
      throw Outboxes.missing("Handler '" + by.handler() + "'");
    }
    return publisher;
  }

  boolean isWaiting() {
    synchronized (lock) {
      return !waiting.isEmpty();
    }
  }

  /** What the database said, so that the handler is not blamed for it. */
  synchronized @Nullable StoreException failure() {
    return failure;
  }

  /** The same, if no other attempt would help. */
  synchronized @Nullable StoreException refused() {
    return failure != null && failure.kind() == StoreException.Kind.PERMANENT ? failure : null;
  }

  /** The transaction has committed, and nothing can change that any more. */
  void committed() {
    boolean any;
    synchronized (this) {
      any = staged;
    }
    if (publisher != null && any) {
      try {
        publisher.wake();
      } catch (RuntimeException e) {
        LOG.warn("The outbox could not be woken; it finds what was published by itself", e);
      }
    }
  }
}
