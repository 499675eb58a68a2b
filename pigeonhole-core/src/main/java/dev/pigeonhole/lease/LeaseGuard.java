package dev.pigeonhole.lease;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.guard.TypeNames;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.Payloads;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs something now, on the caller's thread, <em>effectively</em> once for each key: copies that
 * come at once or later do not run it again, but a crash can. Where {@link dev.pigeonhole.Guard}
 * commits the receipt together with what the body writes, this one can only write it afterwards,
 * into a store of its own. If the process dies in between, the lease runs out and the body is run
 * again: at least once, with repeats kept away. So the body must bear repeats after a crash.
 *
 * <pre>{@code
 * LeaseGuard guard = LeaseGuard.on(RedisGuardStore.of(jedis)).lease(Duration.ofSeconds(30));
 *
 * GuardKey key = GuardKey.of("send-receipt", OrderPlaced.class, order.id());
 * Guarded<String> result = guard.answer(key, String.class, lease -> mailer.send(order));
 * }</pre>
 *
 * <p>Immutable and safe for many threads. Options answer a changed copy; there is nothing to close.
 */
public final class LeaseGuard {
  /** What events have as their inbox. */
  private static final String NAME = "lease";

  private static final long SHORTEST_NAP_MILLIS = 5;
  private static final long LONGEST_NAP_MILLIS = 200;

  private final GuardStore store;
  private final Renewals renewals;
  private final TypeNames types;
  private final LeaseOptions options;
  private final Events events;

  private LeaseGuard(GuardStore store, Renewals renewals, TypeNames types, LeaseOptions options) {
    this.store = store;
    this.renewals = renewals;
    this.types = types;
    this.options = options;
    this.events = new Events(NAME, options.listeners());
  }

  /** A guard on this store, with the default of every option. */
  public static LeaseGuard on(GuardStore store) {
    return new LeaseGuard(
        store, new Renewals(), new TypeNames(), LeaseOptions.defaults(store.forgets()));
  }

  /**
   * How long a key stays taken after its owner has died. A living owner renews it, three times as
   * often as needed, however long the body runs. Default 30 s.
   */
  public LeaseGuard lease(Duration time) {
    return with(options.lease(time));
  }

  /** How long a copy waits for the first run before it is busy. Default 5 s. */
  public LeaseGuard waitAtMost(Duration time) {
    return with(options.waitAtMost(time));
  }

  /**
   * How long receipts and answers are kept after the body has returned: a repeat that comes later
   * is run again. Default 7 days, or for ever in a store that cannot forget.
   *
   * @throws ConfigurationException if the store cannot forget
   */
  public LeaseGuard keepReceipts(Duration time) {
    if (!store.forgets()) {
      throw new ConfigurationException(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "keepReceipts is %s, but this store cannot forget. Leave it out, and delete old receipts"
                  .formatted(time)
              + " by the means of the store.");
    }
    return with(options.keepReceipts(time));
  }

  /** Forgets nothing: a repeat is a repeat, however late it comes. */
  public LeaseGuard keepReceiptsForEver() {
    return with(options.keepReceipts(null));
  }

  /** The largest answer in bytes; a larger one fails the run. Default 64 KB. */
  public LeaseGuard maxAnswer(int bytes) {
    return with(options.maxAnswer(bytes));
  }

  /** How requests and answers become bytes. Default: the codec that the class path offers. */
  public LeaseGuard codec(PayloadCodec codec) {
    return with(options.payloads(Payloads.using(codec)));
  }

  /**
   * Is told of every run, as by a {@link dev.pigeonhole.Guard}: {@code GuardRan}, {@code
   * GuardRepeated}, {@code GuardBusy}, {@code GuardConflicted}, {@code GuardKeyMissing} and {@code
   * GuardFailed} of {@link InboxEvent}. It belongs to no inbox, so they name {@code lease} as
   * theirs. May be given several times.
   */
  public LeaseGuard listener(InboxListener listener) {
    return with(options.listener(listener));
  }

  private LeaseGuard with(LeaseOptions changed) {
    return new LeaseGuard(store, renewals, types, changed);
  }

  /**
   * Runs the body, unless the key is known or somebody is at work on it.
   *
   * @throws X what the body throws, as it is, after the key was made free
   * @throws dev.pigeonhole.MissingKeyException if there is no key
   * @throws ConfigurationException with the code {@code PH-KEY-08} if this guard has run something
   *     for another class with the same simple name
   * @throws LeaseLostException if the body ran, but somebody else took over in the meantime
   * @throws dev.pigeonhole.store.StoreException if the store cannot do it now; with the code {@code
   *     PH-GRD-11} if the body ran and nobody can say whether its receipt was kept
   */
  public <R, X extends Exception> Guarded<R> run(GuardKey key, LeaseBody<R, X> body) throws X {
    return guard(key, null, body);
  }

  /**
   * The same, and keeps what the body returns: a repeat gets it as its answer.
   *
   * @param type what the body returns; bytes, text, or what the codec can write
   * @throws InboxException with the code {@code PH-GRD-02} if the answer is too large; the body ran
   *     and the key is free again, so a repeat runs it once more
   */
  public <R, X extends Exception> Guarded<R> answer(
      GuardKey key, Class<R> type, LeaseBody<R, X> body) throws X {
    return guard(key, type, body);
  }

  /**
   * @param type null where no answer is kept
   */
  private <R, X extends Exception> Guarded<R> guard(
      GuardKey key, @Nullable Class<R> type, LeaseBody<R, X> body) throws X {
    String handler = key.handler().key();
    MessageRef ref = ref(key);
    byte[] request = hash(key);
    String name = StoredNames.of(handler, ref);
    String token = UUID.randomUUID().toString();
    long began = System.nanoTime();
    Claim claim;
    R value = null;
    try {
      claim = claim(name, token, began);
      if (claim instanceof Claim.Won) {
        String idempotencyKey = Hashes.idempotencyKey(ref.source(), ref.id(), handler);
        HeldLease lease = new HeldLease(store, name, token, idempotencyKey, options.lease());
        value = work(lease, key, request, type, body);
      }
    } catch (Throwable e) {
      events.guardFailed(handler, ref, e, since(began));
      throw e;
    }
    Duration took = since(began);
    if (claim instanceof Claim.Held) {
      events.tell(new InboxEvent.GuardBusy(NAME, handler, ref, took));
      return new Guarded.Busy<>(took);
    }
    if (claim instanceof Claim.Completed completed) {
      return known(key, ref, type, request, completed, took);
    }
    events.tell(new InboxEvent.GuardRan(NAME, handler, ref, took));
    return new Guarded.Ran<>(value);
  }

  private static Duration since(long began) {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private MessageRef ref(GuardKey key) {
    types.check(key);
    try {
      return StoredNames.ref(key, options.payloads());
    } catch (MissingKeyException e) {
      events.tell(new InboxEvent.GuardKeyMissing(NAME, key.handler().key(), key.type()));
      throw e;
    }
  }

  /** Asks again and again until the name is ours, or done, or the time to wait is over. */
  private Claim claim(String name, String token, long began) {
    long nap = SHORTEST_NAP_MILLIS;
    while (true) {
      Claim claim = store.claim(name, token, options.lease());
      if (!(claim instanceof Claim.Held held)) {
        return claim;
      }
      long left = options.waitAtMost().toNanos() - (System.nanoTime() - began);
      if (left <= 0) {
        return claim;
      }
      // No two who wait should go on asking in step.
      long pause = ThreadLocalRandom.current().nextLong(nap / 2, nap + 1);
      long untilFree = held.left().toMillis() + 1;
      if (!slept(Math.min(left, TimeUnit.MILLISECONDS.toNanos(Math.min(pause, untilFree))))) {
        return claim;
      }
      nap = Math.min(2 * nap, LONGEST_NAP_MILLIS);
    }
  }

  private <R> Guarded<R> known(
      GuardKey key,
      MessageRef ref,
      @Nullable Class<R> type,
      byte[] request,
      Claim.Completed completed,
      Duration took) {
    String handler = key.handler().key();
    byte[] first = completed.completion().request();
    if (request.length > 0 && first.length > 0 && !Arrays.equals(request, first)) {
      events.tell(new InboxEvent.GuardConflicted(NAME, handler, ref, took));
      return new Guarded.Conflict<>(key);
    }
    DeliveryState state = DeliveryState.COMPLETED;
    events.tell(new InboxEvent.GuardRepeated(NAME, handler, ref, state, took));
    return new Guarded.Repeat<>(answer(type, completed.completion()), completed.at(), state);
  }

  private <R> Optional<R> answer(@Nullable Class<R> type, Completion completion) {
    byte[] answer = completion.answer();
    if (type == null || answer == null) {
      return Optional.empty();
    }
    return Optional.ofNullable(options.payloads().decode(answer, completion.contentType(), type));
  }

  private <R, X extends Exception> @Nullable R work(
      HeldLease lease, GuardKey key, byte[] request, @Nullable Class<R> type, LeaseBody<R, X> body)
      throws X {
    Future<?> renewal = renewals.start(lease, options.lease());
    try {
      R value;
      Completion completion;
      try {
        value = body.run(lease);
        completion = completion(key, request, type == null ? null : value);
      } catch (Throwable e) {
        lease.release(e);
        throw e;
      }
      lease.complete(completion, options.keepReceipts());
      return value;
    } finally {
      renewal.cancel(false);
    }
  }

  private Completion completion(GuardKey key, byte[] request, @Nullable Object answer) {
    if (answer == null) {
      return new Completion(request, "", null);
    }
    Payloads.Encoded encoded = options.payloads().encode(answer);
    byte[] content = encoded.content();
    if (content != null && content.length > options.maxAnswer()) {
      throw new InboxException(
          ErrorCode.ANSWER_TOO_LARGE,
          ("The answer of '%s' has %d bytes, the limit is %d. The body has run, and a repeat runs it"
                  + " again. Answer with a reference, or raise .maxAnswer(…).")
              .formatted(key.handler().key(), content.length, options.maxAnswer()));
    }
    return new Completion(request, encoded.contentType(), content);
  }

  private byte[] hash(GuardKey key) {
    Object request = key.request();
    if (request == null) {
      return new byte[0];
    }
    Payloads.Encoded encoded = options.payloads().encode(request);
    return Hashes.content(encoded.contentType(), encoded.content());
  }

  /** Whoever is interrupted while it waits is busy, and still interrupted. */
  private static boolean slept(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
