package dev.pigeonhole.tck;

import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.testkit.MemoryStore;
import java.time.InstantSource;

class MemoryStoreTest extends InboxStoreContract {
  @Override
  protected InboxStore store(InstantSource clock) {
    return MemoryStore.create().clock(clock);
  }
}
