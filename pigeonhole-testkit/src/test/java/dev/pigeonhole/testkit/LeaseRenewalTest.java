package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.lease.LeaseGuard;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Renewals of several bodies at once. */
class LeaseRenewalTest {
  /** Its time stands still: no lease runs out, however late a renewal comes. */
  private final GuardStore store = MemoryGuardStore.create().clock(new TestClock());

  private final CountDownLatch hangs = new CountDownLatch(1);
  private final CountDownLatch mayGoOn = new CountDownLatch(1);
  private final CountDownLatch renewals = new CountDownLatch(3);

  /** The part of the store that has this key does not answer. */
  private final class Hanging implements GuardStore {
    @Override
    public boolean renew(String name, String token, Duration lease) {
      if (name.endsWith("hanging")) {
        hangs.countDown();
        await(mayGoOn);
      } else {
        renewals.countDown();
      }
      return store.renew(name, token, lease);
    }

    @Override
    public Claim claim(String name, String token, Duration lease) {
      return store.claim(name, token, lease);
    }

    @Override
    public boolean complete(
        String name, String token, Completion completion, @Nullable Duration keep) {
      return store.complete(name, token, completion, keep);
    }

    @Override
    public boolean release(String name, String token) {
      return store.release(name, token);
    }

    @Override
    public boolean forgets() {
      return store.forgets();
    }
  }

  private static boolean await(CountDownLatch latch) {
    try {
      return latch.await(2, TimeUnit.MINUTES);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aRenewalThatHangsKeepsNobodyElseFromTheirs() throws Exception {
    LeaseGuard guard = LeaseGuard.on(new Hanging()).lease(Duration.ofSeconds(1));
    CompletableFuture<Guarded<Boolean>> hanging =
        CompletableFuture.supplyAsync(
            () -> guard.run(GuardKey.of("h", "t", "hanging"), lease -> await(mayGoOn)));
    assertThat(await(hangs)).as("a renewal that hangs").isTrue();

    Guarded<Boolean> other = guard.run(GuardKey.of("h", "t", "other"), lease -> await(renewals));

    mayGoOn.countDown();
    assertThat(other).as("renewed meanwhile").isEqualTo(new Guarded.Ran<>(true));
    hanging.get();
  }
}
