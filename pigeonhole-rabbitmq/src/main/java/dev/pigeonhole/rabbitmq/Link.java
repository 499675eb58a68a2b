package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.Connection;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A connection to publish over, made when it is needed and made again when it is gone. It is made
 * in a thread of its own, because a broker that says nothing would hold the sender for longer than
 * it may take. Safe for many threads.
 */
final class Link {
  private final Connector connector;
  private final String name;
  private @Nullable CompletableFuture<Open> current; // guarded by this

  Link(Connector connector, String name) {
    this.connector = connector;
    this.name = name;
  }

  private static final class Open {
    final Connection connection;
    private volatile Publisher publisher; // changed under the lock of this
    private volatile @Nullable String blocked;

    Open(Connection connection) throws IOException {
      this.connection = connection;
      try {
        this.publisher = new Publisher(connection);
      } catch (IOException | RuntimeException e) {
        Connections.abort(connection);
        throw e;
      }
      connection.addBlockedListener(reason -> blocked = reason, () -> blocked = null);
    }

    /** What was published to an exchange that is not there has closed the channel. */
    synchronized Publisher publisher() throws IOException {
      if (!publisher.isOpen()) {
        publisher = new Publisher(connection);
      }
      return publisher;
    }

    void close() {
      publisher.close();
      Connections.abort(connection);
    }
  }

  /**
   * Something to publish with.
   *
   * @throws InboxException with {@code PH-OBX-04} if there is none within this time, or with {@code
   *     PH-RMQ-02} if the broker does not know this user
   */
  Publisher publisher(Duration patience) throws InterruptedException {
    try {
      Open open = opening().get(patience.toNanos(), TimeUnit.NANOSECONDS);
      String blocked = open.blocked;
      if (blocked != null) {
        throw unconfirmed("it has blocked the connection (%s)".formatted(blocked), null);
      }
      return open.publisher();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof AuthenticationFailureException refused) {
        throw new InboxException(
            ErrorCode.BROKER_REFUSES,
            "The broker refuses this user: %s. Correct the login; it is tried again."
                .formatted(refused.getMessage()),
            refused);
      }
      throw unconfirmed(String.valueOf(e.getCause()), e.getCause());
    } catch (TimeoutException e) {
      throw unconfirmed("no connection in time", e);
    } catch (CancellationException e) {
      throw unconfirmed("the connection was closed while it was opened", e);
    } catch (InboxException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw unconfirmed(String.valueOf(e.getMessage()), e);
    }
  }

  private static InboxException unconfirmed(String why, @Nullable Throwable cause) {
    return new InboxException(
        ErrorCode.SEND_UNCONFIRMED,
        "RabbitMQ takes no messages now: %s. They are sent again.".formatted(why),
        cause);
  }

  private synchronized CompletableFuture<Open> opening() {
    CompletableFuture<Open> now = current;
    if (now == null || isGone(now)) {
      now = connect();
      current = now;
    }
    return now;
  }

  private static boolean isGone(CompletableFuture<Open> opening) {
    return opening.isDone()
        && (opening.isCompletedExceptionally() || !opening.join().connection.isOpen());
  }

  private CompletableFuture<Open> connect() {
    CompletableFuture<Open> opening = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                Open open = new Open(connector.open(name));
                if (!opening.complete(open)) {
                  Connections.abort(open.connection); // closed meanwhile
                }
              } catch (Exception | Error e) {
                opening.completeExceptionally(e);
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
    return opening;
  }

  /** Whoever waits here is told at once, even if the broker does not let itself be left. */
  void close() {
    CompletableFuture<Open> last;
    synchronized (this) {
      last = current;
      current = null;
    }
    if (last != null && !last.cancel(false) && !last.isCompletedExceptionally()) {
      last.join().close();
    }
  }
}
