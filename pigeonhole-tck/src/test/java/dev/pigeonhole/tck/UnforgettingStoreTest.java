package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.testkit.MemoryGuardStore;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The contract holds a store that cannot forget to what it can do, and asks no more of it. */
class UnforgettingStoreTest extends LeaseContract {
  UnforgettingStoreTest() {
    super(
        new GuardStoreContract() {
          @Override
          protected GuardStore store() {
            return new Unforgetting(MemoryGuardStore.create());
          }
        });
  }

  private record Unforgetting(GuardStore store) implements GuardStore {
    @Override
    public Claim claim(String name, String token, Duration lease) {
      return store.claim(name, token, lease);
    }

    @Override
    public boolean renew(String name, String token, Duration lease) {
      return store.renew(name, token, lease);
    }

    @Override
    public boolean complete(
        String name, String token, Completion completion, @Nullable Duration keep) {
      assertThat(keep).as("a time that it was promised not to be given").isNull();
      return store.complete(name, token, completion, keep);
    }

    @Override
    public boolean release(String name, String token) {
      return store.release(name, token);
    }

    @Override
    public boolean forgets() {
      return false;
    }
  }
}
