package dev.pigeonhole.tck;

import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreSettings;
import java.time.InstantSource;
import org.junit.jupiter.api.Nested;

/**
 * What every store must do, as tests. A store proves itself by a test class that extends this one:
 *
 * <pre>{@code
 * class MyStoreTest extends InboxStoreContract {
 *   @Override
 *   protected InboxStore store(InstantSource clock) {
 *     return MyStore.of(anEmptyDatabase()).clock(clock);
 *   }
 * }
 * }</pre>
 *
 * <p>The store must take every time, those of stored rows included, from the given clock: no test
 * sleeps. A name that begins with {@code b04_} shows the numbered behaviour, one with {@code id01_}
 * the numbered hazard, that it proves.
 *
 * <p>A store in a database extends {@link DatabaseStoreContract} instead, which asks for more.
 *
 * <p>Set the system property {@code pigeonhole.size} to something else than {@code small} for
 * longer races and more random bodies.
 */
public abstract class InboxStoreContract {

  /** A store without any rows, on this clock. Called once for each test. */
  protected abstract InboxStore store(InstantSource clock);

  /**
   * How the tests open the store. Override it when a pool is smaller; keep at least 4 lanes and 1
   * MiB of payload.
   */
  protected StoreSettings settings() {
    return new StoreSettings("contract", 4, 4, 1 << 20);
  }

  @Nested
  class Accepting extends AcceptContract {
    Accepting() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Identity extends IdentityContract {
    Identity() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Type extends TypeContract {
    Type() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Content extends ContentContract {
    Content() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Reading extends ReadContract {
    Reading() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Settling extends SettleContract {
    Settling() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Ordering extends OrderContract {
    Ordering() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class OrderingKeys extends KeyContract {
    OrderingKeys() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Placing extends PlaceContract {
    Placing() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Marking extends MarkContract {
    Marking() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class NodesAndCells extends NodeContract {
    NodesAndCells() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class HandlerKeys extends HandlerKeyContract {
    HandlerKeys() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Opening extends OpenContract {
    Opening() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Administration extends AdminContract {
    Administration() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Listing extends ListContract {
    Listing() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Changing extends ChangeContract {
    Changing() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Counting extends CountContract {
    Counting() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Auditing extends AuditContract {
    Auditing() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Forgetting extends PruneContract {
    Forgetting() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  class Racing extends ConcurrencyContract {
    Racing() {
      super(InboxStoreContract.this);
    }
  }
}
