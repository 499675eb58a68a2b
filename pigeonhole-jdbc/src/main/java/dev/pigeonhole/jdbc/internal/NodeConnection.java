package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.internal.Session.LockWait;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The one connection of a node's beats and cells, kept while the node lives so that deliveries
 * cannot exhaust it. Opened at the first use and again after an error that broke it; one caller at
 * a time.
 */
final class NodeConnection {

  private final Jdbc jdbc;
  private final ReentrantLock lock = new ReentrantLock();
  private Jdbc.@Nullable Borrowed borrowed;

  NodeConnection(DataSource dataSource, Jdbc like) {
    this.jdbc = new Jdbc(dataSource, like.dialect, like.tables, like.clock);
  }

  /** Runs work in one transaction, again if it was chosen as the victim of a deadlock. */
  <T> T transaction(Jdbc.Work<T> work) {
    lock.lock();
    try {
      return Jdbc.retrying(() -> once(work));
    } finally {
      lock.unlock();
    }
  }

  private <T> T once(Jdbc.Work<T> work) {
    Jdbc.Borrowed current = borrowed;
    if (current == null) {
      current = jdbc.begin();
      borrowed = current;
    }
    boolean done = false;
    try {
      current.beginTransaction();
      Session session = current.transaction(LockWait.NORMAL);
      T answer = work.run(session);
      current.commitAndGoOn(session);
      done = true;
      return answer;
    } catch (SQLException e) {
      throw Errors.of(jdbc.dialect, jdbc.tables, e, false);
    } finally {
      if (!done) {
        dropUnlessRolledBack(current);
      }
    }
  }

  /** A connection that can still roll back is as good as new; any other is replaced. */
  private void dropUnlessRolledBack(Jdbc.Borrowed current) {
    try {
      Connection connection = current.connection;
      jdbc.dialect.rollback(connection);
      if (connection.isValid(2)) {
        return;
      }
    } catch (SQLException e) {
      // Broken: the next call opens another one.
    }
    borrowed = null;
    current.abandon(); // nobody else should have it with a limit of ours
    current.close();
  }

  /** Gives the connection back; the next call opens another one. */
  void release() {
    lock.lock();
    try {
      Jdbc.Borrowed current = borrowed;
      borrowed = null;
      if (current != null) {
        current.close();
      }
    } finally {
      lock.unlock();
    }
  }
}
