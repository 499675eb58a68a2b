package dev.pigeonhole.spring;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.store.StoreException;
import java.sql.Connection;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** The transaction of Spring that the calling thread is in, if it is one of this data source. */
final class JoinedTransaction {
  private static final Logger LOG = LoggerFactory.getLogger(JoinedTransaction.class);

  private final DataSource dataSource;
  private final Probe probe;

  JoinedTransaction(DataSource dataSource) {
    this.dataSource = dataSource;
    this.probe = new Probe(dataSource);
  }

  /**
   * Whether there is one.
   *
   * @throws StoreException if there is one of another resource, one that is read-only, or one that
   *     has ended: the caller expects that everything commits together
   */
  boolean active(String what) {
    if (!TransactionSynchronizationManager.isActualTransactionActive()) {
      return false;
    }
    if (TransactionSynchronizationManager.getResource(dataSource) instanceof ConnectionHolder holder
        && isOfTransaction(holder)) {
      refuseEnded(holder, what);
      refuseReadOnly(what);
      return true;
    }
    throw new StoreException(
        StoreException.Kind.PERMANENT,
        ErrorCode.TX_MANAGER_FOREIGN,
        ("The transaction of the caller%s is not one of the DataSource that %s uses, so they would"
                + " not commit together. Use a transaction manager of that DataSource, or call it"
                + " outside of the transaction.")
            .formatted(name(), what),
        null);
  }

  /**
   * In a transaction of another resource, Spring also keeps a connection that was read from, and
   * never commits it. JPA's connections are not marked as kept.
   */
  private boolean isOfTransaction(ConnectionHolder holder) {
    return probe.isInTransaction() || !holder.isSynchronizedWithTransaction();
  }

  /** Asks what Spring lets only managers ask. */
  private static final class Probe extends DataSourceTransactionManager {
    private static final long serialVersionUID = 1L;

    Probe(DataSource dataSource) {
      super(dataSource);
    }

    boolean isInTransaction() {
      return isExistingTransaction(doGetTransaction());
    }
  }

  /** Spring shows it until its last callback has returned, but nobody commits it again. */
  private static void refuseEnded(ConnectionHolder holder, String what) {
    if (TransactionSynchronizationManager.isSynchronizationActive()
        && !EndingTransactions.isEnding(holder)) {
      return;
    }
    throw new StoreException(
        StoreException.Kind.PERMANENT,
        ErrorCode.TX_REQUIRED,
        ("The transaction of the caller%s has ended, and what %s would write in it now, nobody"
                + " commits. Begin a new one with REQUIRES_NEW, or do it before the commit, as in"
                + " TransactionPhase.BEFORE_COMMIT; the Inbox itself has its own transactions.")
            .formatted(name(), what),
        null);
  }

  /**
   * Some databases write in it nevertheless, and JPA does not: a receipt would commit without the
   * effects.
   */
  private static void refuseReadOnly(String what) {
    if (TransactionSynchronizationManager.isCurrentTransactionReadOnly()) {
      throw new StoreException(
          StoreException.Kind.PERMANENT,
          ErrorCode.TX_REQUIRED,
          ("The transaction of the caller%s is read-only, so %s cannot write in it. Remove readOnly"
                  + " from it, or begin a new one with REQUIRES_NEW.")
              .formatted(name(), what),
          null);
    }
  }

  private static String name() {
    String name = TransactionSynchronizationManager.getCurrentTransactionName();
    return name == null ? "" : " (" + name + ")";
  }

  /** Does it on the connection of the transaction, which stays open. */
  <T> T on(Function<Connection, T> work) {
    Connection connection = DataSourceUtils.getConnection(dataSource);
    try {
      return work.apply(connection);
    } finally {
      DataSourceUtils.releaseConnection(connection, dataSource);
    }
  }

  /** Runs it once after the commit, however often it is asked for; never after a rollback. */
  void afterCommit(Object owner, Runnable action) {
    for (TransactionSynchronization each :
        TransactionSynchronizationManager.getSynchronizations()) {
      if (each instanceof AfterCommit known && known.owner == owner) {
        return;
      }
    }
    TransactionSynchronizationManager.registerSynchronization(new AfterCommit(owner, action));
  }

  /**
   * Whoever commits all the same is refused, and all of it is rolled back. A synchronization is too
   * late when others are already asked before the commit, and a manager may tell nobody: both.
   */
  void refuseCommit(Supplier<InboxException> why) {
    if (TransactionSynchronizationManager.getResource(dataSource)
        instanceof ConnectionHolder holder) {
      EndingTransactions.refuseCommit(holder, why);
    }
    TransactionSynchronizationManager.registerSynchronization(
        new TransactionSynchronization() {
          @Override
          public void beforeCommit(boolean readOnly) {
            throw why.get();
          }
        });
  }

  private static final class AfterCommit implements TransactionSynchronization {
    private final Object owner;
    private final Runnable action;

    AfterCommit(Object owner, Runnable action) {
      this.owner = owner;
      this.action = action;
    }

    /** After the commit nothing can fail any more, and what is not woken finds it by polling. */
    @Override
    public void afterCommit() {
      try {
        action.run();
      } catch (RuntimeException e) {
        LOG.debug("Nobody could be woken; they find it by themselves", e);
      }
    }
  }
}
