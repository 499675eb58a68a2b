package dev.pigeonhole.tck;

import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.testkit.MemoryGuardStore;

class MemoryGuardStoreTest extends GuardStoreContract {
  @Override
  protected GuardStore store() {
    return MemoryGuardStore.create();
  }
}
