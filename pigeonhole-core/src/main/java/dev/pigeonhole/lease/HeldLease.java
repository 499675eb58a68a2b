package dev.pigeonhole.lease;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lease of one run. Two threads use it, that of the body and the one that renews; the monitor
 * makes sure that nothing is renewed once the run has ended, for that would lease the name again.
 */
final class HeldLease implements Lease {
  private static final Logger log = LoggerFactory.getLogger(LeaseGuard.class);
  private static final int TRIES = 3;
  private static final long PAUSE_MILLIS = 100;

  private final GuardStore store;
  private final String name;
  private final String token;
  private final String idempotencyKey;
  private final Duration lease;
  private boolean ended; // guarded by this
  private boolean told; // guarded by this

  HeldLease(GuardStore store, String name, String token, String idempotencyKey, Duration lease) {
    this.store = store;
    this.name = name;
    this.token = token;
    this.idempotencyKey = idempotencyKey;
    this.lease = lease;
  }

  @Override
  public String idempotencyKey() {
    return idempotencyKey;
  }

  @Override
  public String token() {
    return token;
  }

  @Override
  public synchronized void renew() {
    if (ended) {
      throw new IllegalStateException("The body has returned; its lease cannot be renewed.");
    }
    if (!store.renew(name, token, lease)) {
      throw new LeaseLostException(
          token,
          ("The lease on '%s' was taken over by somebody else while its body runs. Stop here: what"
                  + " is left to do is done there.")
              .formatted(Names.shown(name)));
    }
  }

  /** Renews in the background, where nobody could catch anything: the end of the run will tell. */
  synchronized void keep() {
    if (ended) {
      return;
    }
    try {
      if (!store.renew(name, token, lease) && !told) {
        told = true;
        log.warn("The lease on '{}' was taken over while its body runs.", Names.shown(name));
      }
    } catch (RuntimeException e) {
      log.warn("The lease on '{}' could not be renewed: {}", Names.shown(name), e.toString());
    }
  }

  /** Makes the name free after the body has failed, and adds to that failure if it cannot. */
  synchronized void release(Throwable failure) {
    ended = true;
    try {
      uncancelled(() -> store.release(name, token));
    } catch (RuntimeException e) {
      // The name is free when the lease runs out. The failure itself is what the caller must see.
      failure.addSuppressed(e);
    }
  }

  /**
   * Records that the body has run.
   *
   * @throws LeaseLostException if somebody else has taken over
   * @throws StoreException if the store could not tell that it has the receipt
   */
  synchronized void complete(Completion completion, @Nullable Duration keep) {
    ended = true;
    if (!uncancelled(() -> recorded(completion, keep))) {
      throw new LeaseLostException(
          token,
          ("The body of '%s' ran to its end, but its lease had run out, and somebody else has taken"
                  + " over: the body may have run twice, and the receipt is theirs. Give it a longer"
                  + " lease if this was no crash or pause.")
              .formatted(Names.shown(name)));
    }
  }

  /** Tries a few times: after a body that has run, one lost connection must not cost a receipt. */
  private boolean recorded(Completion completion, @Nullable Duration keep) {
    for (int attempt = 1; ; attempt++) {
      try {
        return store.complete(name, token, completion, keep);
      } catch (StoreException e) {
        if (attempt == TRIES || e.kind() == StoreException.Kind.PERMANENT) {
          throw new StoreException(
              StoreException.Kind.UNKNOWN,
              ErrorCode.GUARD_RECEIPT_UNKNOWN,
              ("The body of '%s' ran to its end, but its receipt may be missing. A repeat gets it, or"
                      + " runs the body again once the lease has run out.")
                  .formatted(Names.shown(name)),
              e);
        }
        pause();
      }
    }
  }

  /** An interrupt is meant for the body; what the body has done must be recorded all the same. */
  private static boolean uncancelled(Supplier<Boolean> call) {
    boolean interrupted = Thread.interrupted();
    try {
      return call.get();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
