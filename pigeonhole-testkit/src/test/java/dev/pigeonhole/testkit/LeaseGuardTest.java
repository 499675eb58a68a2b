package dev.pigeonhole.testkit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.lease.LeaseGuard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What a lease guard does by itself, whatever its store: options, keys, times. */
class LeaseGuardTest {
  private static final GuardKey KEY = GuardKey.of("charge-card", "order", "o-1");

  private final TestClock clock = new TestClock();
  private final GuardStore store = MemoryGuardStore.create().clock(clock);
  private final LeaseGuard guard = LeaseGuard.on(store).waitAtMost(Duration.ZERO);
  private final AtomicInteger runs = new AtomicInteger();

  record Charge(String id) {}

  @Test
  void aReceiptIsKeptForSevenDaysAfterTheBodyReturned() {
    guard.run(
        KEY,
        lease -> {
          clock.advance(ofSeconds(5));
          return null;
        });
    clock.advance(ofDays(7).minusMillis(1));

    assertThat(guard.run(KEY, lease -> runs.incrementAndGet()))
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            known -> assertThat(known.firstRun()).isEqualTo(TestClock.START.plusSeconds(5)));
    clock.advance(ofMillis(1));
    assertThat(guard.run(KEY, lease -> runs.incrementAndGet())).isEqualTo(new Guarded.Ran<>(1));
  }

  @Test
  void aReceiptIsKeptForAsLongAsOneLikes() {
    GuardKey other = GuardKey.of("charge-card", "order", "o-2");
    guard.keepReceipts(ofHours(1)).run(KEY, lease -> null);
    guard.keepReceiptsForEver().run(other, lease -> null);
    clock.advance(ofHours(1));
    assertThat(guard.run(KEY, lease -> null)).isInstanceOf(Guarded.Ran.class);

    clock.advance(ofDays(36_500));
    assertThat(guard.run(other, lease -> null)).isInstanceOf(Guarded.Repeat.class);
  }

  @Test
  void aStoreThatCannotForgetRefusesToBeToldWhen() {
    List<Duration> kept = new ArrayList<>();
    LeaseGuard unforgetting = LeaseGuard.on(new Unforgetting(kept));

    refused(ErrorCode.OPTION_NOT_APPLICABLE, () -> unforgetting.keepReceipts(ofDays(1)));
    unforgetting.run(KEY, lease -> null);
    unforgetting.keepReceiptsForEver().run(KEY, lease -> null);

    assertThat(kept).containsExactly(null, null);
  }

  @Test
  void m8_onlyTheClockOfTheStoreEndsALease() {
    store.claim("charge-card/key of order/o-1", "a process that died", ofSeconds(30));
    clock.advance(ofSeconds(30).minusMillis(1));
    assertThat(guard.run(KEY, lease -> null)).isInstanceOf(Guarded.Busy.class);

    clock.advance(ofMillis(1));
    assertThat(guard.run(KEY, lease -> null)).isInstanceOf(Guarded.Ran.class);
  }

  @Test
  void aClockThatJumpsOverTheLeaseCostsNothingWhereNobodyElseComes() {
    assertThat(
            guard.run(
                KEY,
                lease -> {
                  clock.advance(ofHours(1));
                  lease.renew();
                  clock.advance(ofHours(1));
                  return "done";
                }))
        .isEqualTo(new Guarded.Ran<>("done"));
    assertThat(guard.run(KEY, lease -> null)).isInstanceOf(Guarded.Repeat.class);
  }

  @Test
  void answersAreWrittenAndReadByTheCodec() {
    LeaseGuard typed = guard.codec(new RecordCodec());
    Charge charge = new Charge("c-1");
    typed.answer(KEY.request(charge), Charge.class, lease -> charge);

    assertThat(typed.answer(KEY.request(charge), Charge.class, lease -> null))
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            known -> assertThat(known.answer().toString()).isEqualTo("Optional[Charge[id=c-1]]"));
    assertThat(typed.run(KEY.request(new Charge("c-2")), lease -> null))
        .isInstanceOf(Guarded.Conflict.class);
  }

  @Test
  void anAnswerWithoutACodecIsRefusedAndTheKeyIsFree() {
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> guard.answer(KEY, Charge.class, lease -> new Charge("c-1")))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_TYPE_REFUSED));

    assertThat(guard.run(KEY, lease -> null)).isInstanceOf(Guarded.Ran.class);
  }

  @Test
  void whatIsOutOfRangeIsRefusedAtOnce() {
    refused(ErrorCode.RANGE_INVALID, () -> guard.lease(ofMillis(99)));
    refused(ErrorCode.RANGE_INVALID, () -> guard.lease(ofDays(366)));
    refused(ErrorCode.RANGE_INVALID, () -> guard.waitAtMost(ofMillis(-1)));
    refused(ErrorCode.RANGE_INVALID, () -> guard.waitAtMost(ofMinutes(6)));
    refused(ErrorCode.RANGE_INVALID, () -> guard.maxAnswer(0));
    refused(ErrorCode.RETENTION_INVALID, () -> guard.keepReceipts(Duration.ZERO));
  }

  @Test
  void aKeyThatNothingCanBeKnownByIsRefusedBeforeAnythingRuns() {
    for (String missing : new String[] {null, "", "  ", "\u00a0"}) {
      assertThatExceptionOfType(MissingKeyException.class)
          .isThrownBy(() -> run(GuardKey.of("charge-card", "order", missing)))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.GUARD_KEY_MISSING));
    }
    refused(ErrorCode.ID_TOO_LONG, () -> run(GuardKey.of("a", "order", "x".repeat(201))));
    refused(ErrorCode.ID_CONTROL_CHARACTER, () -> run(GuardKey.of("a", "order", "o\n1")));
    refused(ErrorCode.ID_INVALID_UNICODE, () -> run(GuardKey.of("a", "order", "o\ud800")));
    refused(ErrorCode.SOURCE_INVALID, () -> run(GuardKey.ofMessage("a", " ", "o-1")));
    refused(ErrorCode.NAME_INVALID, () -> run(GuardKey.of("charge card", "order", "o-1")));
    refused(ErrorCode.OPTION_NOT_APPLICABLE, () -> run(KEY.formerly("charge")));
    assertThat(runs).hasValue(0);
  }

  private Guarded<Integer> run(GuardKey key) {
    return guard.run(key, lease -> runs.incrementAndGet());
  }

  private static void refused(ErrorCode code, Callable<?> call) {
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(call::call)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }

  @Test
  void aMistakeInAnOptionIsAMistakeOfTheConfiguration() {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> guard.lease(Duration.ZERO))
        .withMessage("PH-CFG-05: lease is PT0S; give a duration from PT0.1S to PT8760H.");
  }

  @Test
  void leasesAreRenewedByADaemon() {
    guard
        .lease(ofMillis(100))
        .run(
            KEY,
            lease -> {
              Patience.await(
                  ofMinutes(1), "the daemon", LeaseGuardTest::renewalRuns, () -> "no such thread");
              return null;
            });
  }

  private static boolean renewalRuns() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(
            thread -> thread.getName().equals("pigeonhole-lease-renewal") && thread.isDaemon());
  }

  /** Remembers for how long it was told to keep receipts, and leases to everybody. */
  private record Unforgetting(List<Duration> kept) implements GuardStore {
    @Override
    public Claim claim(String name, String token, Duration lease) {
      return new Claim.Won();
    }

    @Override
    public boolean renew(String name, String token, Duration lease) {
      return true;
    }

    @Override
    public boolean complete(String name, String token, Completion completion, Duration keep) {
      return kept.add(keep);
    }

    @Override
    public boolean release(String name, String token) {
      return true;
    }

    @Override
    public boolean forgets() {
      return false;
    }
  }
}
