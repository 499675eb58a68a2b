package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.lease.Lease;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.lease.LeaseLostException;
import dev.pigeonhole.store.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A {@link LeaseGuard} on the store: who runs, who waits, and who learns what. */
abstract class LeaseGuardContract {
  private static final Duration NOT_AT_ALL = Duration.ZERO;
  private static final Duration PATIENTLY = Duration.ofMinutes(2);
  private static final Duration SHORT_LEASE = Duration.ofMillis(300);
  private static final GuardKey KEY = GuardKey.of("charge-card", "order", "o-1");

  private final GuardStoreContract contract;
  private final AtomicInteger runs = new AtomicInteger();
  private FaultyGuardStore store;
  private LeaseGuard guard;

  LeaseGuardContract(GuardStoreContract contract) {
    this.contract = contract;
  }

  @BeforeEach
  void guardOnAnEmptyStore() {
    runs.set(0);
    store = new FaultyGuardStore(contract.store());
    guard = LeaseGuard.on(store).lease(Duration.ofMinutes(1)).waitAtMost(NOT_AT_ALL);
  }

  @Test
  void theBodyRunsOnceAndARepeatGetsItsAnswer() {
    assertThat(guard.answer(KEY, String.class, this::charge))
        .isEqualTo(new Guarded.Ran<>("charge 1"));

    for (int repeat = 0; repeat < 2; repeat++) {
      Guarded.Repeat<String> known = repeated(guard.answer(KEY, String.class, this::charge));
      assertThat(known.answer()).hasValue("charge 1");
      assertThat(known.state()).isEqualTo(DeliveryState.COMPLETED);
    }
    assertThat(runs).hasValue(1);
  }

  @Test
  void aRepeatIsARepeatAlsoWithoutAnAnswer() {
    assertThat(guard.run(KEY, this::charge)).isEqualTo(new Guarded.Ran<>("charge 1"));
    assertThat(repeated(guard.run(KEY, this::charge)).answer()).isEmpty();

    GuardKey silent = GuardKey.of("notify", "order", "o-1");
    assertThat(guard.answer(silent, String.class, lease -> null))
        .isEqualTo(new Guarded.Ran<String>(null));
    assertThat(repeated(guard.answer(silent, String.class, this::charge)).answer()).isEmpty();
    assertThat(runs).hasValue(1);
  }

  @Test
  void ofManyCopiesAtOnceOneRuns() {
    LeaseGuard waiting = guard.waitAtMost(PATIENTLY);
    int keys = Size.of(40, 500);
    for (int i = 0; i < keys; i++) {
      GuardKey key = GuardKey.of("charge-card", "order", "race-" + i);

      List<Guarded<String>> outcomes =
          Race.of(8, runner -> waiting.answer(key, String.class, this::charge));

      assertThat(runs).hasValue(i + 1);
      assertThat(outcomes).containsOnlyOnce(new Guarded.Ran<>("charge " + (i + 1)));
      assertThat(outcomes)
          .filteredOn(outcome -> !(outcome instanceof Guarded.Ran))
          .allSatisfy(
              outcome -> assertThat(repeated(outcome).answer()).hasValue("charge " + runs.get()));
    }
  }

  @Test
  void aCopyThatComesMeanwhileWaitsAndGetsTheAnswer() {
    LeaseGuard waiting = guard.waitAtMost(PATIENTLY);
    CountDownLatch running = new CountDownLatch(1);

    List<Guarded<String>> outcomes =
        atOnce(
            () ->
                guard.answer(
                    KEY,
                    String.class,
                    lease -> {
                      running.countDown();
                      LeaseContract.passes(Duration.ofMillis(300));
                      return charge(lease);
                    }),
            () -> {
              awaitLatch(running);
              return waiting.answer(KEY, String.class, this::charge);
            });

    assertThat(outcomes.get(0)).isEqualTo(new Guarded.Ran<>("charge 1"));
    assertThat(repeated(outcomes.get(1)).answer()).hasValue("charge 1");
  }

  @Test
  void b63_m4_aCopyThatWaitsInVainIsBusyAndNothingIsBurnt() {
    Duration patience = Duration.ofMillis(150);
    AtomicReference<Guarded<String>> copy = new AtomicReference<>();

    guard.answer(
        KEY,
        String.class,
        lease -> {
          copy.set(guard.waitAtMost(patience).answer(KEY, String.class, this::charge));
          return charge(lease);
        });

    assertThat(copy.get())
        .isInstanceOfSatisfying(
            Guarded.Busy.class, busy -> assertThat(busy.waited()).isBetween(patience, PATIENTLY));
    assertThat(repeated(guard.answer(KEY, String.class, this::charge)).answer())
        .hasValue("charge 1");
  }

  @Test
  void aCopyThatWaitedRunsWhenTheFirstHasFailed() {
    LeaseGuard waiting = guard.waitAtMost(PATIENTLY);
    CountDownLatch running = new CountDownLatch(1);

    List<Object> outcomes =
        atOnce(
            () ->
                catchThrowable(
                    () ->
                        guard.run(
                            KEY,
                            lease -> {
                              running.countDown();
                              LeaseContract.passes(Duration.ofMillis(100));
                              throw new IOException("declined");
                            })),
            () -> {
              awaitLatch(running);
              return waiting.run(KEY, this::charge);
            });

    assertThat(outcomes.get(0)).isInstanceOf(IOException.class);
    assertThat(outcomes.get(1)).isEqualTo(new Guarded.Ran<>("charge 1"));
  }

  @Test
  void m10_whatTheBodyThrowsReachesTheCallerAsItIsAndTheKeyIsFreeAtOnce() {
    for (Throwable failure :
        List.of(
            new IOException("declined"),
            new InterruptedException("shutdown"),
            new IllegalStateException("bug"),
            new StackOverflowError("deep"))) {
      assertThatThrownBy(() -> guard.run(KEY, lease -> sneakily(failure)))
          .isSameAs(failure)
          .hasNoSuppressedExceptions();
    }

    assertThat(guard.run(KEY, this::charge)).isEqualTo(new Guarded.Ran<>("charge 1"));
  }

  @Test
  void handlersTypesAndSourcesNeverMeet() {
    List<GuardKey> keys =
        List.of(
            GuardKey.of("a", "t", "k"),
            GuardKey.of("b", "t", "k"),
            GuardKey.of("a", "u", "k"),
            GuardKey.of("a", "t", "K"),
            GuardKey.of("a", "t/k", "k"),
            GuardKey.of("a", "t", "k/k"),
            GuardKey.of("a", "t%2Fk", "k"),
            GuardKey.ofMessage("a", "t", "k"));
    for (GuardKey key : keys) {
      assertThat(guard.run(key, this::charge)).as("%s", key).isInstanceOf(Guarded.Ran.class);
    }
    for (GuardKey key : keys) {
      repeated(guard.run(key, this::charge));
    }
  }

  /** Two classes that only their packages, or the classes around them, tell apart. */
  private static final class Here {
    record Order(String number) {}
  }

  private static final class Elsewhere {
    record Order(String number) implements IdempotentMessage {
      @Override
      public String idempotencyKey() {
        return number;
      }
    }
  }

  @Test
  void m3_twoClassesWithOneSimpleNameAreNotTakenForOne() {
    guard.run(GuardKey.of("charge-card", Here.Order.class, "o-1"), this::charge);

    for (GuardKey key :
        List.of(
            GuardKey.of("charge-card", Elsewhere.Order.class, "o-1"),
            GuardKey.of("charge-card", new Elsewhere.Order("o-1")))) {
      for (LeaseGuard copy : List.of(guard, guard.waitAtMost(PATIENTLY))) {
        assertThatExceptionOfType(ConfigurationException.class)
            .isThrownBy(() -> copy.run(key, this::charge))
            .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TYPE_NAME_TAKEN))
            .withMessageContaining(Here.Order.class.getName())
            .withMessageContaining(Elsewhere.Order.class.getName());
      }
    }
    assertThat(guard.run(GuardKey.of("charge-card", "other-order", "o-1"), this::charge))
        .isEqualTo(new Guarded.Ran<>("charge 2"));
  }

  @Test
  void theIdempotencyKeyIsTheSameOnEveryRunAndAnotherForEachHandlerAndKey() {
    List<String> keys = new ArrayList<>();
    List<String> tokens = new ArrayList<>();
    for (boolean fails : new boolean[] {true, false}) {
      Throwable thrown =
          catchThrowable(
              () ->
                  guard.run(
                      KEY,
                      lease -> {
                        keys.add(lease.idempotencyKey());
                        tokens.add(lease.token());
                        if (fails) {
                          throw new IOException("as if the process were gone");
                        }
                        return null;
                      }));
      assertThat(thrown != null).isEqualTo(fails);
    }
    assertThat(keys).hasSize(2).containsOnly(keys.get(0));
    assertThat(tokens).doesNotHaveDuplicates();

    for (GuardKey other :
        List.of(
            GuardKey.of("notify", "order", "o-1"),
            GuardKey.of("charge-card", "payment", "o-1"),
            GuardKey.of("charge-card", "order", "o-2"))) {
      guard.run(other, lease -> keys.add(lease.idempotencyKey()));
    }
    assertThat(keys.subList(1, 5)).doesNotHaveDuplicates();
  }

  @Test
  void aKnownKeyWithAnotherRequestIsAConflict() {
    guard.answer(KEY.request("10 EUR"), String.class, this::charge);

    GuardKey other = KEY.request("99 EUR");
    assertThat(guard.answer(other, String.class, this::charge))
        .isEqualTo(new Guarded.Conflict<>(other));
    assertThat(repeated(guard.answer(KEY.request("10 EUR"), String.class, this::charge)).answer())
        .hasValue("charge 1");
    assertThat(repeated(guard.answer(KEY, String.class, this::charge)).answer())
        .hasValue("charge 1");
    assertThat(runs).hasValue(1);
  }

  @Test
  void anAnswerThatIsTooLargeIsRefusedAndTheKeyIsFree() {
    String largest = "x".repeat(64 * 1024);

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> guard.answer(KEY, String.class, lease -> largest + "x"))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ANSWER_TOO_LARGE))
        .withMessageContaining("The body has run");

    assertThat(guard.answer(KEY, String.class, lease -> largest))
        .isEqualTo(new Guarded.Ran<>(largest));
    assertThat(repeated(guard.answer(KEY, String.class, this::charge)).answer()).hasValue(largest);
  }

  /** Four renewals, a third of the lease apart: it would have run out with three at the latest. */
  @Test
  void m6_aLongBodyKeepsItsLease() {
    LeaseGuard brief = guard.lease(Duration.ofSeconds(5));

    Guarded<Guarded<String>> outcome =
        brief.run(
            KEY,
            held -> {
              awaitRenewals(4); // and not a time, for the last one to be fresh
              return brief.run(KEY, this::charge);
            });

    assertThat(outcome)
        .isInstanceOfSatisfying(
            Guarded.Ran.class, ran -> assertThat(ran.value()).isInstanceOf(Guarded.Busy.class));
    assertThat(runs).hasValue(0);
    repeated(brief.run(KEY, this::charge));
  }

  @Test
  void aBodyRenewsItsLeaseWhileItRunsAndNotAfterwards() {
    List<Lease> leases = new ArrayList<>();

    guard.run(
        KEY,
        lease -> {
          lease.renew();
          assertThat(lease.token()).isNotBlank();
          leases.add(lease);
          return null;
        });

    assertThatIllegalStateException().isThrownBy(() -> leases.get(0).renew());
    repeated(guard.run(KEY, this::charge));
  }

  @Test
  void t15_aCrashBlocksItsKeyForTheLeaseAloneHoweverLongReceiptsAreKept() {
    store.cannotRelease = true; // as if the process were gone
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                guard
                    .lease(SHORT_LEASE)
                    .run(
                        KEY,
                        lease -> {
                          throw new IllegalStateException("crash");
                        }))
        .satisfies(
            e ->
                assertThat(e.getSuppressed())
                    .hasSize(1)
                    .allMatch(StoreException.class::isInstance));
    store.cannotRelease = false;
    LeaseContract.passes(SHORT_LEASE);

    assertThat(guard.run(KEY, this::charge)).isEqualTo(new Guarded.Ran<>("charge 1"));
  }

  @Test
  void m7_d125_whoWasReplacedLearnsItAndChangesNothing() {
    LeaseGuard brief = guard.lease(SHORT_LEASE);
    List<Lease> leases = new ArrayList<>();
    store.cannotRenew = true;

    assertThatExceptionOfType(LeaseLostException.class)
        .isThrownBy(
            () ->
                brief.answer(
                    KEY,
                    String.class,
                    lease -> {
                      leases.add(lease);
                      LeaseContract.passes(SHORT_LEASE);
                      assertThat(guard.answer(KEY, String.class, this::charge))
                          .isEqualTo(new Guarded.Ran<>("charge 1"));
                      return "of the first";
                    }))
        .satisfies(
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.LEASE_LOST);
              assertThat(e.token()).isEqualTo(leases.get(0).token());
            })
        .withMessageContaining("ran to its end")
        .withMessageContaining("may have run twice");

    assertThat(repeated(guard.answer(KEY, String.class, this::charge)).answer())
        .hasValue("charge 1");
  }

  @Test
  void whoWasReplacedIsToldWhenItRenews() {
    LeaseGuard brief = guard.lease(SHORT_LEASE);
    store.cannotRenew = true;

    assertThatExceptionOfType(LeaseLostException.class)
        .isThrownBy(
            () ->
                brief.run(
                    KEY,
                    lease -> {
                      LeaseContract.passes(SHORT_LEASE);
                      return guard.run(
                          KEY,
                          other -> {
                            store.cannotRenew = false;
                            lease.renew();
                            return charge(other);
                          });
                    }))
        .withMessageContaining("while its body runs");
  }

  @Test
  void b41_t15_aReceiptThatCannotBeWrittenIsNoSecret() {
    store.lostCompletions.set(Integer.MAX_VALUE);

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> guard.run(KEY, this::charge))
        .satisfies(
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.GUARD_RECEIPT_UNKNOWN);
              assertThat(e.kind()).isEqualTo(StoreException.Kind.UNKNOWN);
            })
        .withMessageContaining("ran to its end")
        .withCauseInstanceOf(StoreException.class);

    assertThat(runs).hasValue(1);
    assertThat(guard.run(KEY, this::charge)).isInstanceOf(Guarded.Busy.class);
  }

  @Test
  void aCompletionThatIsLostOnceIsMadeAgain() {
    store.lostCompletions.set(1);
    assertThat(guard.run(KEY, this::charge)).isEqualTo(new Guarded.Ran<>("charge 1"));
    repeated(guard.run(KEY, this::charge));

    GuardKey second = GuardKey.of("charge-card", "order", "o-2");
    store.lostAnswers.set(1);
    assertThat(guard.run(second, this::charge)).isEqualTo(new Guarded.Ran<>("charge 2"));
    repeated(guard.run(second, this::charge));
  }

  @Test
  void t8_anInterruptOfTheBodyDoesNotCostItsReceipt() {
    Guarded<String> outcome =
        guard.run(
            KEY,
            lease -> {
              Thread.currentThread().interrupt();
              return charge(lease);
            });

    assertThat(Thread.interrupted()).isTrue();
    assertThat(outcome).isEqualTo(new Guarded.Ran<>("charge 1"));
    repeated(guard.run(KEY, this::charge));
  }

  @Test
  void whoIsInterruptedWhileItWaitsIsBusyAndStillInterrupted() {
    guard.run(
        KEY,
        lease -> {
          Thread.currentThread().interrupt();
          assertThat(guard.waitAtMost(PATIENTLY).run(KEY, this::charge))
              .isInstanceOf(Guarded.Busy.class);
          assertThat(Thread.interrupted()).isTrue();
          return null;
        });
    assertThat(runs).hasValue(0);
  }

  @Test
  void aListenerIsToldWhatBecameOfEveryCall() {
    List<InboxEvent> told = new CopyOnWriteArrayList<>();
    LeaseGuard heard = guard.listener(told::add);
    MessageRef ref = new MessageRef("key of order", "o-1");
    GuardKey failing = GuardKey.of("charge-card", "order", "o-2");
    IOException declined = new IOException("declined");

    heard.run(KEY.request("10 EUR"), lease -> heard.run(KEY, this::charge));
    heard.run(KEY, this::charge);
    heard.run(KEY.request("99 EUR"), this::charge);
    assertThatThrownBy(() -> heard.run(failing, lease -> sneakily(declined))).isSameAs(declined);
    assertThatThrownBy(() -> heard.run(GuardKey.of("charge-card", "order", null), this::charge))
        .isInstanceOf(MissingKeyException.class);
    store.lostCompletions.set(Integer.MAX_VALUE);
    Throwable lost = catchThrowable(() -> heard.run(failing, this::charge));

    assertThat(told).hasSize(7);
    assertThat(told.get(0))
        .isInstanceOfSatisfying(
            InboxEvent.GuardBusy.class, busy -> assertThat(busy.message()).isEqualTo(ref));
    assertThat(told.get(1))
        .isInstanceOfSatisfying(
            InboxEvent.GuardRan.class, ran -> assertThat(ran.message()).isEqualTo(ref));
    MessageRef other = new MessageRef("key of order", "o-2");
    assertThat(told.get(2))
        .isEqualTo(
            new InboxEvent.GuardRepeated(
                "lease", "charge-card", ref, DeliveryState.COMPLETED, tookOf(told.get(2))));
    assertThat(told.get(3))
        .isEqualTo(
            new InboxEvent.GuardConflicted("lease", "charge-card", ref, tookOf(told.get(3))));
    assertFailed(told.get(4), other, declined);
    assertThat(told.get(5))
        .isEqualTo(new InboxEvent.GuardKeyMissing("lease", "charge-card", "order"));
    assertFailed(told.get(6), other, lost);
  }

  private static void assertFailed(InboxEvent event, MessageRef message, Throwable cause) {
    assertThat(event)
        .isInstanceOfSatisfying(
            InboxEvent.GuardFailed.class,
            failed -> {
              assertThat(failed.inbox()).isEqualTo("lease");
              assertThat(failed.handler()).isEqualTo("charge-card");
              assertThat(failed.message()).isEqualTo(message);
              assertThat(failed.failure().type()).isEqualTo(cause.getClass().getName());
              assertThat(failed.failure().message()).isEqualTo(cause.getMessage());
            });
    assertThat(tookOf(event)).isPositive();
  }

  /** However long it was, it was not nothing. */
  private static Duration tookOf(InboxEvent event) {
    Duration took = Duration.ZERO;
    if (event instanceof InboxEvent.GuardRepeated repeated) {
      took = repeated.took();
    } else if (event instanceof InboxEvent.GuardConflicted conflicted) {
      took = conflicted.took();
    } else if (event instanceof InboxEvent.GuardFailed failed) {
      took = failed.took();
    }
    assertThat(took).isPositive();
    return took;
  }

  private String charge(Lease lease) {
    assertThat(lease.token()).isNotBlank();
    return "charge " + runs.incrementAndGet();
  }

  private static <T> List<T> atOnce(Callable<T> first, Callable<T> second) {
    return Race.of(List.of(first, second));
  }

  private static <R> Guarded.Repeat<R> repeated(Guarded<R> outcome) {
    assertThat(outcome).isInstanceOf(Guarded.Repeat.class);
    return (Guarded.Repeat<R>) outcome;
  }

  private static String sneakily(Throwable failure) throws Exception {
    if (failure instanceof Error error) {
      throw error;
    }
    throw (Exception) failure;
  }

  private void awaitRenewals(int count) {
    long end = System.nanoTime() + PATIENTLY.toNanos();
    while (store.renewals.get() < count) {
      assertThat(System.nanoTime() - end).as("%d renewals in time", count).isNegative();
      SourceFixture.nap();
    }
  }

  private static void awaitLatch(CountDownLatch latch) throws InterruptedException {
    assertThat(latch.await(PATIENTLY.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }
}
