package dev.pigeonhole.tck;

import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.StoreSettings;
import java.time.InstantSource;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.DisplayName;
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

  /**
   * The database of the store that {@link #store} answered last, for what a handler writes and for
   * accepting in a caller's transaction. Needed by stores that have transactions; connections must
   * be able to see each other's commits. The tests create and drop a table {@code contract_effect}
   * there.
   */
  protected Optional<DataSource> dataSource() {
    return Optional.empty();
  }

  /**
   * Whether only one process can open the store, so that {@link Nodes#join} declares every other
   * node dead.
   */
  protected boolean oneProcessOnly() {
    return false;
  }

  @Nested
  @DisplayName("accepting")
  class Accepting extends AcceptContract {
    Accepting() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  @DisplayName("identity")
  class Identity extends IdentityContract {
    Identity() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  @DisplayName("content")
  class Content extends ContentContract {
    Content() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  @DisplayName("reading")
  class Reading extends ReadContract {
    Reading() {
      super(InboxStoreContract.this);
    }
  }

  @Nested
  @DisplayName("settling")
  class Settling extends SettleContract {
    Settling() {
      super(InboxStoreContract.this);
    }
  }
}
