package dev.pigeonhole.tck;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A store whose network fails where a test wants it to. */
final class FaultyGuardStore implements GuardStore {
  private final GuardStore store;
  volatile boolean cannotRenew;
  volatile boolean cannotRelease;

  /** How many completions are lost on their way. */
  final AtomicInteger lostCompletions = new AtomicInteger();

  /** How many completions are done and their answers lost. */
  final AtomicInteger lostAnswers = new AtomicInteger();

  /** How many leases were renewed. */
  final AtomicInteger renewals = new AtomicInteger();

  FaultyGuardStore(GuardStore store) {
    this.store = store;
  }

  @Override
  public Claim claim(String name, String token, Duration lease) {
    return store.claim(name, token, lease);
  }

  @Override
  public boolean renew(String name, String token, Duration lease) {
    failIf(cannotRenew);
    boolean renewed = store.renew(name, token, lease);
    if (renewed) {
      renewals.incrementAndGet();
    }
    return renewed;
  }

  @Override
  public boolean complete(
      String name, String token, Completion completion, @Nullable Duration keep) {
    failIf(lostCompletions.getAndUpdate(left -> Math.max(0, left - 1)) > 0);
    boolean done = store.complete(name, token, completion, keep);
    failIf(lostAnswers.getAndUpdate(left -> Math.max(0, left - 1)) > 0);
    return done;
  }

  @Override
  public boolean release(String name, String token) {
    failIf(cannotRelease);
    return store.release(name, token);
  }

  @Override
  public boolean forgets() {
    return store.forgets();
  }

  private static void failIf(boolean fault) {
    if (fault) {
      throw new StoreException(
          StoreException.Kind.UNKNOWN, ErrorCode.DATABASE_UNREACHABLE, "The network is cut.", null);
    }
  }
}
