package dev.pigeonhole.spring;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import java.sql.Connection;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * A guard whose bodies run in transactions of Spring: in that of the caller if there is one, and
 * otherwise in one that it begins. What they write through JPA, JdbcTemplate or whatever else knows
 * Spring commits with the receipt. Methods with {@link IdempotentMethod} use it. A caller whose
 * body has failed cannot commit any more, as with everything that takes part in a transaction of
 * Spring.
 *
 * <p>A failure is never kept here, whatever {@link GuardBuilder#keepFailures} says: what JPA has
 * not written yet could not be undone alone. Safe for many threads.
 */
public final class GuardTemplate implements AutoCloseable {
  private final Guard guard;
  private final DataSource dataSource;
  private final SpringTransactions transactions;
  private final JoinedTransaction joined;

  private GuardTemplate(Guard guard, DataSource dataSource, SpringTransactions transactions) {
    this.guard = guard;
    this.dataSource = dataSource;
    this.transactions = transactions;
    this.joined = new JoinedTransaction(dataSource);
  }

  /**
   * A guard on a store.
   *
   * @param manager begins transactions where the caller has none; it has to own the store's
   *     DataSource
   * @param options such as {@code guard -> guard.named("shop").keepAnswers(ofDays(1))}
   * @throws ConfigurationException if the manager or an option is wrong
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public static GuardTemplate on(
      JdbcStore store, PlatformTransactionManager manager, UnaryOperator<GuardBuilder> options) {
    SpringTransactions transactions = new SpringTransactions(store.dataSource(), manager);
    String wrong = transactions.whyNot(manager);
    if (wrong != null) {
      throw new ConfigurationException(
          ErrorCode.TX_MANAGER_FOREIGN, "The transaction manager of a guard: " + wrong);
    }
    Guard guard = options.apply(Guard.on(store.transactionsFrom(transactions))).build();
    return new GuardTemplate(guard, store.dataSource(), transactions);
  }

  /**
   * As {@link Guard#run(GuardKey, GuardBody)}, or {@link Guard#run(Connection, GuardKey,
   * GuardBody)}.
   *
   * @throws dev.pigeonhole.store.StoreException also with {@code PH-TX-06} if the transaction of
   *     the caller is read-only, or has ended, as in what runs after the commit
   */
  public <R, X extends Exception> Guarded<R> run(GuardKey key, GuardBody<R, X> body) throws X {
    return run(key, null, body);
  }

  /**
   * The same, and keeps what the body returns for repeats: an entity of JPA as it is after JPA has
   * written it.
   */
  public <R, X extends Exception> Guarded<R> answer(
      GuardKey key, Class<R> type, GuardBody<R, X> body) throws X {
    return run(
        key,
        type,
        tx -> {
          R value = body.run(tx);
          flush(key);
          return value;
        });
  }

  /** Makes JPA write what it holds back, which changes entities once more: their versions. */
  void flush(GuardKey key) {
    transactions.flush(key.handler().key());
  }

  /** For a body that flushes before it makes its answer. */
  <R, X extends Exception> Guarded<R> run(
      GuardKey key, @Nullable Class<R> type, GuardBody<R, X> body) throws X {
    if (!joined.active("the guard of '" + key.handler().key() + "'")) {
      return type == null ? guard.run(key, body) : guard.answer(key, type, body);
    }
    Connection connection = DataSourceUtils.getConnection(dataSource);
    AtomicBoolean began = new AtomicBoolean();
    GuardBody<R, X> whole =
        tx -> {
          began.set(true);
          return body.run(tx);
        };
    try {
      return type == null
          ? guard.run(connection, key, whole)
          : guard.answer(connection, key, type, whole);
    } catch (Throwable e) {
      // What JPA holds back of a run without a receipt would be written behind its savepoint.
      if (began.get()) {
        joined.refuseCommit(() -> SpringTransactions.rollbackOnly(null));
      }
      throw e;
    } finally {
      DataSourceUtils.releaseConnection(connection, dataSource);
    }
  }

  /** Makes handlers known, so that a call needs no connection besides that of its transaction. */
  void prepare(Collection<HandlerKey> handlers) {
    guard.prepare(handlers);
  }

  /** How answers become bytes. */
  PayloadCodec codec() {
    return guard.codec();
  }

  /** The transactions that it begins. */
  SpringTransactions transactions() {
    return transactions;
  }

  /** Ends what runs in the background: forgetting old receipts. */
  @Override
  public void close() {
    guard.close();
  }
}
