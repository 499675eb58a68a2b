package dev.pigeonhole.spring;

import dev.pigeonhole.InboxException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.JdbcTransactionObjectSupport;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Which transactions are being ended, and which must not commit. What runs after a commit still
 * finds the transaction on its thread, looking as if it were active; only its manager can tell, and
 * tells its listeners.
 */
final class EndingTransactions implements TransactionExecutionListener {
  private static final EndingTransactions INSTANCE = new EndingTransactions();

  /**
   * A transaction has its own holder, also where another is suspended. Only one that a manager of
   * JDBC begins within one of JPA has not, and is taken for the same.
   */
  private final Set<ConnectionHolder> ending =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  /** Those that must not commit, and why. */
  private final Map<ConnectionHolder, Supplier<InboxException>> refused =
      Collections.synchronizedMap(new WeakHashMap<>());

  private EndingTransactions() {}

  /** Lets this manager tell, if it can tell anybody. */
  static void of(PlatformTransactionManager manager) {
    if (manager instanceof ConfigurableTransactionManager talking) {
      Collection<TransactionExecutionListener> known = talking.getTransactionExecutionListeners();
      if (!known.contains(INSTANCE)) {
        // Another list: somebody may be walking through this one.
        List<TransactionExecutionListener> all = new ArrayList<>(known);
        all.add(INSTANCE);
        talking.setTransactionExecutionListeners(all);
      }
    }
  }

  /** The same for all managers that this context has made. */
  static void ofAll(ConfigurableListableBeanFactory beans) {
    for (String name : beans.getBeanNamesForType(PlatformTransactionManager.class, false, false)) {
      if (beans.containsSingleton(name)) {
        of(beans.getBean(name, PlatformTransactionManager.class));
      }
    }
  }

  /** Whether it is too late to write in the transaction of this holder. */
  static boolean isEnding(ConnectionHolder holder) {
    return INSTANCE.ending.contains(holder);
  }

  /**
   * Whoever commits the transaction of this holder is refused. What is thrown to a manager by its
   * listener is the last word before the commit, behind all synchronizations.
   */
  static void refuseCommit(ConnectionHolder holder, Supplier<InboxException> why) {
    INSTANCE.refused.putIfAbsent(holder, why);
  }

  /**
   * If a synchronization rejects the commit, the manager notifies listeners only after all
   * callbacks.
   */
  @Override
  public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
    ConnectionHolder holder = failure == null ? holder(transaction) : null;
    if (holder != null && TransactionSynchronizationManager.isSynchronizationActive()) {
      TransactionSynchronizationManager.registerSynchronization(new FirstToKnow(holder));
    }
  }

  private final class FirstToKnow implements TransactionSynchronization {
    private final ConnectionHolder holder;

    FirstToKnow(ConnectionHolder holder) {
      this.holder = holder;
    }

    @Override
    public int getOrder() {
      return HIGHEST_PRECEDENCE;
    }

    @Override
    public void afterCompletion(int status) {
      ending.add(holder);
    }
  }

  @Override
  public void beforeCommit(TransactionExecution transaction) {
    ends(transaction);
    ConnectionHolder holder = holder(transaction);
    Supplier<InboxException> why = holder == null ? null : refused.get(holder);
    if (why != null) {
      throw why.get();
    }
  }

  @Override
  public void beforeRollback(TransactionExecution transaction) {
    ends(transaction);
  }

  @Override
  public void afterCommit(TransactionExecution transaction, @Nullable Throwable failure) {
    ended(transaction);
  }

  @Override
  public void afterRollback(TransactionExecution transaction, @Nullable Throwable failure) {
    ended(transaction);
  }

  private void ends(TransactionExecution transaction) {
    ConnectionHolder holder = holder(transaction);
    if (holder != null) {
      ending.add(holder);
    }
  }

  private void ended(TransactionExecution transaction) {
    ConnectionHolder holder = holder(transaction);
    if (holder != null) {
      ending.remove(holder);
      refused.remove(holder);
    }
  }

  /** Null for a savepoint, which is not the end of its transaction, and for other resources. */
  private static @Nullable ConnectionHolder holder(TransactionExecution transaction) {
    return transaction.isNewTransaction()
            && transaction instanceof DefaultTransactionStatus status
            && status.getTransaction() instanceof JdbcTransactionObjectSupport jdbc
            && jdbc.hasConnectionHolder()
        ? jdbc.getConnectionHolder()
        : null;
  }
}
