package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.WakeUps;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Words by LISTEN and NOTIFY.
 *
 * <p>A transaction that has notified holds a lock of the whole database while it commits: with a
 * word in each, all accepts would commit one after the other. So a word is a transaction of its
 * own, sent behind the commit by a thread of its own, at most ten times a second however much comes
 * in. It says nothing but that there is something.
 */
final class PostgresWakeUps implements WakeUps {

  private static final Logger LOG = LoggerFactory.getLogger(PostgresWakeUps.class);

  /** Between two words of a node. */
  static final Duration PACE = Duration.ofMillis(100);

  /** A connection that lost its server in silence would be listened to for ever. */
  private static final Duration PROOF_OF_LIFE = Duration.ofSeconds(30);

  private static final int LONGEST_CHANNEL = 63;

  private final Jdbc jdbc;
  private final String channel;

  /**
   * Its thread ends when there is nothing to tell, for nobody closes an inbox that only accepts.
   */
  private final ThreadPoolExecutor teller =
      new ThreadPoolExecutor(
          0, 1, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), PostgresWakeUps::thread);

  private final AtomicBoolean telling = new AtomicBoolean();
  private volatile long toldAt = System.nanoTime() - PACE.toNanos();

  private final ReentrantLock lock = new ReentrantLock();
  private Jdbc.@Nullable Borrowed listening; // guarded by lock
  private long provenAt; // guarded by lock

  PostgresWakeUps(Jdbc jdbc) {
    this.jdbc = jdbc;
    this.channel = channel(jdbc.tables.schema() + "." + jdbc.tables.plain(""));
  }

  /** Two inboxes in one database have two channels. A longer name would be refused. */
  static String channel(String name) {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    return bytes.length <= LONGEST_CHANNEL ? name : "pigeonhole_" + UUID.nameUUIDFromBytes(bytes);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "pigeonhole-notify");
    thread.setDaemon(true);
    return thread;
  }

  // ---- telling

  @Override
  public void tell() {
    if (telling.compareAndSet(false, true)) {
      teller.execute(this::send);
    }
  }

  private void send() {
    try {
      long wait = toldAt + PACE.toNanos() - System.nanoTime();
      if (wait > 0) {
        TimeUnit.NANOSECONDS.sleep(wait);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    telling.set(false); // before the word: what commits from now on needs another one
    try {
      jdbc.write(
          LockWait.NORMAL,
          session ->
              session.query("SELECT pg_notify(?, '')", params -> params.add(channel), row -> true));
    } catch (StoreException e) {
      // Nobody is told, and they poll. That the database is away is heard of elsewhere.
      LOG.debug("No word to other nodes", e);
    } finally {
      toldAt = System.nanoTime();
    }
  }

  // ---- listening

  @Override
  public boolean await(Duration atMost) {
    lock.lock();
    try {
      Jdbc.Borrowed present = listening;
      if (present == null) {
        listen();
        return true;
      }
      return came(present, atMost);
    } finally {
      lock.unlock();
    }
  }

  private void listen() {
    Jdbc.Borrowed borrowed = jdbc.committing();
    try {
      execute(borrowed, "LISTEN \"" + channel.replace("\"", "\"\"") + "\"");
    } catch (SQLException e) {
      drop(borrowed);
      throw Errors.of(jdbc.dialect, jdbc.tables, e, false);
    }
    listening = borrowed;
    provenAt = System.nanoTime();
  }

  private boolean came(Jdbc.Borrowed present, Duration atMost) {
    try {
      boolean came = Notifications.came(present.connection, atMost);
      if (came) {
        provenAt = System.nanoTime();
      } else if (System.nanoTime() - provenAt > PROOF_OF_LIFE.toNanos()) {
        execute(present, "SELECT 1");
        provenAt = System.nanoTime();
      }
      return came;
    } catch (SQLException e) {
      listening = null;
      drop(present);
      throw Errors.of(jdbc.dialect, jdbc.tables, e, false);
    }
  }

  @Override
  public void rest() {
    lock.lock();
    try {
      Jdbc.Borrowed present = listening;
      listening = null;
      if (present != null) {
        try {
          execute(present, "UNLISTEN *"); // the pool may hand it to anybody
          present.close();
        } catch (SQLException e) {
          drop(present);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** The pool must not hand it to anybody any more. */
  private static void drop(Jdbc.Borrowed borrowed) {
    borrowed.abandon();
    borrowed.close();
  }

  private static void execute(Jdbc.Borrowed borrowed, String sql) throws SQLException {
    try (Statement statement = borrowed.connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
