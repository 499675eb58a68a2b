package dev.pigeonhole.tck;

import dev.pigeonhole.store.Delivery;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;

/**
 * What a store in a database must do on top of {@link InboxStoreContract}: accept in a caller's
 * transaction, and commit a handler's writes together with its receipt.
 */
public abstract class DatabaseStoreContract extends InboxStoreContract {

  /**
   * The database of the store that {@link #store} answered last, for what a handler writes and for
   * accepting in a caller's transaction. Connections must be able to see each other's commits. The
   * tests create and drop a table {@code contract_effect} there.
   */
  protected abstract DataSource dataSource();

  /**
   * Gives this open delivery a receipt that it must not have, as a change of mode between two
   * versions could leave it.
   */
  protected abstract void plantReceipt(Delivery delivery);

  /** Makes the next message number higher than this one. */
  protected abstract void continueNumbersAfter(long seq);

  @Nested
  class CallersTransactions extends CallerTransactionContract {
    CallersTransactions() {
      super(DatabaseStoreContract.this);
    }
  }

  @Nested
  class TransactionalDeliveries extends TransactionContract {
    TransactionalDeliveries() {
      super(DatabaseStoreContract.this);
    }
  }

  @Nested
  class MessagesInUse extends InUseContract {
    MessagesInUse() {
      super(DatabaseStoreContract.this);
    }
  }

  @Nested
  class OddRows extends OddRowContract {
    OddRows() {
      super(DatabaseStoreContract.this);
    }
  }
}
