package dev.pigeonhole.tck;

import dev.pigeonhole.lease.GuardStore;
import org.junit.jupiter.api.Nested;

/**
 * What every store of leases must do, as tests. A store proves itself by a test class that extends
 * this one:
 *
 * <pre>{@code
 * class MyGuardStoreTest extends GuardStoreContract {
 *   @Override
 *   protected GuardStore store() {
 *     return MyGuardStore.of(aServer()).prefix(aNewOne());
 *   }
 * }
 * }</pre>
 *
 * <p>Leases run out by the clock of the store, so some tests let a fraction of a second pass. Set
 * the system property {@code pigeonhole.size} to something else than {@code small} for longer
 * races.
 */
public abstract class GuardStoreContract {

  /** A store that knows no name yet. Called once for each test. */
  protected abstract GuardStore store();

  @Nested
  class Leasing extends LeaseContract {
    Leasing() {
      super(GuardStoreContract.this);
    }
  }

  @Nested
  class Guarding extends LeaseGuardContract {
    Guarding() {
      super(GuardStoreContract.this);
    }
  }
}
