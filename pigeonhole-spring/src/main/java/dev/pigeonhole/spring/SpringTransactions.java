package dev.pigeonhole.spring;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.jdbc.TransactionSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Transactions of Spring for a store: the manager begins and ends them, so that whatever knows
 * Spring writes in them, and the store locks and completes deliveries on the connection that the
 * manager has bound to the thread.
 */
final class SpringTransactions implements TransactionSource {
  private static final Logger LOG = LoggerFactory.getLogger(SpringTransactions.class);

  /** What a driver says when nobody knows whether it has committed. */
  private static final String OUTCOME_UNKNOWN = "08007";

  private final DataSource dataSource;
  private final PlatformTransactionManager manager;
  private final Map<String, PlatformTransactionManager> ofHandlers = new ConcurrentHashMap<>();
  private final Set<String> warned = ConcurrentHashMap.newKeySet();

  SpringTransactions(DataSource dataSource, PlatformTransactionManager manager) {
    this.dataSource = dataSource;
    this.manager = manager;
    EndingTransactions.of(manager);
  }

  /** Where handlers do not name a manager. */
  PlatformTransactionManager manager() {
    return manager;
  }

  /**
   * Lets a handler run under the manager that its annotation means, which has to own the same data
   * source.
   *
   * @param type the class of its method
   * @return what is wrong with it, or null
   */
  @Nullable String use(
      BeanFactory beans, String handler, TransactionAttribute declared, Class<?> type) {
    Transactions.Chosen chosen = Transactions.manager(beans, declared, type);
    PlatformTransactionManager other = chosen.manager();
    if (other == null) {
      return chosen.problem() + ".";
    }
    String wrong = other == manager ? null : whyNot(other);
    if (wrong != null) {
      return "the transaction manager of its @Transactional: " + wrong;
    }
    EndingTransactions.of(other);
    ofHandlers.put(handler, other);
    return null;
  }

  /**
   * Begins a transaction and rolls it back, to see whether it is one of the data source.
   *
   * @return what is wrong, or null
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  @Nullable String whyNot(PlatformTransactionManager candidate) {
    try {
      Spring begun = begin("", candidate);
      warnWithoutLimit(begun.connection());
      begun.rollback();
      return null;
    } catch (SQLException e) {
      throw Databases.unreachable(e);
    } catch (InboxException e) {
      return String.valueOf(e.getMessage()).replaceFirst("^PH-\\S+ ", ""); // the problem has it
    } catch (TransactionException e) {
      return "It cannot begin a transaction that is READ COMMITTED: " + e.getMessage();
    }
  }

  /**
   * In its own transactions the store sets a limit; here the connection is back in the pool before
   * anybody could take one back.
   */
  private void warnWithoutLimit(Connection connection) {
    try {
      if (connection.getNetworkTimeout() == 0
          && !connection.getMetaData().getURL().startsWith("jdbc:h2:") // has no such limit
          && warned.add("network")) {
        LOG.warn(
            "The driver waits for the database for ever when the network is silent, and in"
                + " transactions of Spring nobody else sets a limit. Give its URL a socketTimeout"
                + " that is longer than the slowest statement of a handler.");
      }
    } catch (SQLException | AbstractMethodError | UnsupportedOperationException e) {
      LOG.debug("Whether the driver limits its waits for the network is not known", e);
    }
  }

  @Override
  public Managed begin(String handler) throws SQLException {
    return begin(handler, managerOf(handler));
  }

  private Spring begin(String handler, PlatformTransactionManager owner) throws SQLException {
    DefaultTransactionDefinition wanted =
        new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
    wanted.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
    wanted.setName("pigeonhole " + handler);
    TransactionStatus status;
    try {
      status = owner.getTransaction(wanted);
    } catch (TransactionException e) {
      SQLException error = Databases.errorIn(e);
      if (error != null) {
        throw error;
      }
      throw e;
    }
    try {
      return new Spring(handler, owner, status);
    } catch (RuntimeException | Error e) {
      owner.rollback(status);
      throw e;
    }
  }

  /**
   * Makes JPA write what it holds back in the transaction of this thread, unless that will never
   * commit. To take part in it leaves nothing behind that had to be ended.
   */
  void flush(String handler) {
    TransactionStatus status =
        managerOf(handler)
            .getTransaction(
                new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_SUPPORTS));
    if (!status.isRollbackOnly()) {
      status.flush();
    }
  }

  private PlatformTransactionManager managerOf(String handler) {
    return ofHandlers.getOrDefault(handler, manager);
  }

  /** One transaction, on the thread that began it. */
  private final class Spring implements Managed {
    private final String handler;
    private final PlatformTransactionManager owner;
    private final TransactionStatus status;
    private final Connection connection;
    private int completion = TransactionSynchronization.STATUS_UNKNOWN;
    private boolean released;

    Spring(String handler, PlatformTransactionManager owner, TransactionStatus status) {
      this.handler = handler;
      this.owner = owner;
      this.status = status;
      if (!(TransactionSynchronizationManager.getResource(dataSource)
          instanceof ConnectionHolder)) {
        throw foreign();
      }
      if (TransactionSynchronizationManager.isSynchronizationActive()) {
        TransactionSynchronizationManager.registerSynchronization(new Watch());
      }
      this.connection = DataSourceUtils.getConnection(dataSource);
    }

    private InboxException foreign() {
      return new InboxException(
          ErrorCode.TX_MANAGER_FOREIGN,
          ("The transactions of this %s are not those of the inbox's DataSource, so nothing would"
                  + " commit together with the receipt. Use a manager of the DataSource that the"
                  + " store was made with.")
              .formatted(owner.getClass().getSimpleName()));
    }

    @Override
    public Connection connection() {
      return connection;
    }

    @Override
    public void flush() {
      refuseRollbackOnly(status, null);
      status.flush();
      refuseRollbackOnly(status, null);
      warnOfOthers();
    }

    @Override
    public void commit() throws Exception {
      release();
      try {
        owner.commit(status);
      } catch (RuntimeException e) {
        judge(e);
      }
    }

    private void judge(RuntimeException e) throws SQLException {
      if (completion == TransactionSynchronization.STATUS_COMMITTED) {
        LOG.warn(
            "The transaction of handler {} is committed, but something that was to run after it"
                + " has failed; it is not run again",
            handler,
            e);
        return;
      }
      SQLException error = Databases.errorIn(e);
      if (error != null) {
        throw error;
      }
      if (e instanceof UnexpectedRollbackException) {
        throw rollbackOnly(e);
      }
      if (completion == TransactionSynchronization.STATUS_UNKNOWN
          && e instanceof TransactionException) {
        throw new SQLException("Nobody can say whether it was committed", OUTCOME_UNKNOWN, e);
      }
      throw e;
    }

    @Override
    public void rollback() {
      release();
      if (status.isCompleted()) {
        return;
      }
      try {
        owner.rollback(status);
      } catch (RuntimeException e) {
        LOG.debug("The transaction of handler {} could not be rolled back", handler, e);
      }
    }

    private void release() {
      if (!released) {
        released = true;
        DataSourceUtils.releaseConnection(connection, dataSource);
      }
    }

    /** Not the transaction itself: what both call flush is not the same. */
    private final class Watch implements TransactionSynchronization {
      @Override
      public void afterCompletion(int outcome) {
        completion = outcome;
      }

      @Override
      public void suspend() {
        warnOnce(
            "begins a transaction of its own, as with REQUIRES_NEW or NOT_SUPPORTED. What is"
                + " written there does not commit with the receipt, and is written again by a"
                + " repeat");
      }
    }

    /** Templates and repositories leave what they use on the thread until the end. */
    private void warnOfOthers() {
      for (Object key : TransactionSynchronizationManager.getResourceMap().keySet()) {
        if (key instanceof DataSource && key != dataSource) {
          warnOnce(
              "uses another DataSource. What is written there does not commit with the receipt, and"
                  + " is written again by a repeat");
        }
      }
    }

    private void warnOnce(String what) {
      if (!handler.isEmpty() && warned.add(handler + " " + what)) {
        LOG.warn("Handler {} {}", handler, what);
      }
    }
  }

  /** A participant that has failed decides for all, even if its exception was caught. */
  static void refuseRollbackOnly(TransactionStatus status, @Nullable Throwable cause) {
    if (status.isRollbackOnly()) {
      throw rollbackOnly(cause);
    }
  }

  static InboxException rollbackOnly(@Nullable Throwable cause) {
    return new InboxException(
        ErrorCode.TX_ROLLBACK_ONLY,
        "Something that the method called has marked the transaction as rollback-only, so nothing"
            + " was committed, the receipt included. Let its exception through, or give it"
            + " noRollbackFor.",
        cause);
  }
}
