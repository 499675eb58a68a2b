package dev.pigeonhole.tck;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who has a name, and for how long. */
abstract class LeaseContract {
  /** Over when a test has waited for it. */
  private static final Duration SHORT = Duration.ofMillis(200);

  /** Never over within a test. */
  private static final Duration LONG = Duration.ofMinutes(10);

  private static final Completion PLAIN = new Completion(new byte[0], "", null);

  private final GuardStoreContract contract;
  private GuardStore store;

  LeaseContract(GuardStoreContract contract) {
    this.contract = contract;
  }

  @BeforeEach
  void openAnEmptyStore() {
    store = contract.store();
  }

  @Test
  void aFreeNameIsLeasedToWhoAsksFirst() {
    assertThat(store.claim("n", "a", LONG)).isEqualTo(new Claim.Won());

    assertThat(held("n", "b").left()).isPositive().isLessThanOrEqualTo(LONG);
    assertThat(store.claim("other", "b", LONG)).isEqualTo(new Claim.Won());
  }

  @Test
  void anOwnerWhoDidNotHearTheAnswerMayAskAgain() {
    won("n", "a", LONG);

    won("n", "a", LONG);
    held("n", "b");
  }

  @Test
  void oneOfManyWhoAskAtOnceWins() {
    for (int round = 0; round < Size.of(50, 1_000); round++) {
      String name = "race-" + round;
      List<Claim> claims = Race.of(8, runner -> store.claim(name, "runner-" + runner, LONG));

      assertThat(claims).containsOnlyOnce(new Claim.Won());
      assertThat(claims).filteredOn(Claim.Held.class::isInstance).hasSize(7);
    }
  }

  @Test
  void aLeaseThatNobodyRenewsRunsOut() {
    won("n", "a", SHORT);
    passes(SHORT);

    won("n", "b", LONG);
    held("n", "a");
  }

  @Test
  void oneOfManyTakesOverALeaseThatRanOut() {
    won("n", "a", SHORT);
    passes(SHORT);

    assertThat(Race.of(8, runner -> store.claim("n", "runner-" + runner, LONG)))
        .containsOnlyOnce(new Claim.Won());
  }

  @Test
  void aRenewedLeaseBeginsAnew() {
    won("n", "a", SHORT);

    assertThat(store.renew("n", "a", LONG)).isTrue();
    passes(SHORT);

    held("n", "b");
    assertThat(store.renew("n", "b", LONG)).isFalse();
  }

  @Test
  void m5_anOwnerWhoWasReplacedCanNeitherRenewNorCompleteNorRelease() {
    won("n", "a", SHORT);
    passes(SHORT);
    won("n", "b", LONG);

    assertThat(store.renew("n", "a", LONG)).isFalse();
    assertThat(complete("n", "a", PLAIN)).isFalse();
    assertThat(store.release("n", "a")).isFalse();

    held("n", "c");
    assertThat(complete("n", "b", answering("of b"))).isTrue();
    assertThat(store.renew("n", "a", LONG)).isFalse();
    assertThat(complete("n", "a", answering("of a"))).isFalse();
    assertThat(store.release("n", "a")).isFalse();
    assertThat(answer("n")).isEqualTo("of b");
  }

  @Test
  void aLeaseThatRanOutIsStillGoodWhereNobodyTookIt() {
    won("renewed", "a", SHORT);
    won("completed", "a", SHORT);
    passes(SHORT);

    assertThat(store.renew("renewed", "a", LONG)).isTrue();
    assertThat(complete("completed", "a", answering("late"))).isTrue();

    held("renewed", "b");
    assertThat(answer("completed")).isEqualTo("late");
  }

  @Test
  void t15_aReleasedNameIsFreeAtOnceAndOnlyItsOwnerReleasesIt() {
    won("n", "a", LONG);

    assertThat(store.release("n", "b")).isFalse();
    held("n", "b");
    assertThat(store.release("n", "a")).isTrue();
    assertThat(store.release("n", "a")).isFalse();
    won("n", "b", LONG);
  }

  @Test
  void aReceiptIsAnsweredAsItWasLeft() {
    byte[] everyByte = new byte[256];
    for (int i = 0; i < everyByte.length; i++) {
      everyByte[i] = (byte) i;
    }
    won("n", "a", LONG);

    assertThat(complete("n", "a", new Completion(everyByte, "text/ä", everyByte))).isTrue();

    Claim.Completed receipt = completed("n");
    assertThat(receipt.completion().request()).isEqualTo(everyByte);
    assertThat(receipt.completion().contentType()).isEqualTo("text/ä");
    assertThat(receipt.completion().answer()).isEqualTo(everyByte);
    assertThat(completed("n").at()).isEqualTo(receipt.at());
  }

  @Test
  void anEmptyAnswerIsNotNone() {
    won("empty", "a", LONG);
    won("none", "a", LONG);
    complete("empty", "a", new Completion(new byte[0], "text/plain", new byte[0]));
    complete("none", "a", PLAIN);

    assertThat(completed("empty").completion().answer()).isNotNull().isEmpty();
    assertThat(completed("none").completion().answer()).isNull();
    assertThat(completed("none").completion().request()).isEmpty();
  }

  @Test
  void whoDidNotHearThatItIsCompletedMayCompleteItAgain() {
    won("n", "a", LONG);
    assertThat(complete("n", "a", answering("first"))).isTrue();

    assertThat(complete("n", "a", answering("second"))).isTrue();

    assertThat(answer("n")).isEqualTo("first");
  }

  @Test
  void whatIsCompletedIsNeitherRenewedNorReleasedNorLeased() {
    won("n", "a", LONG);
    complete("n", "a", answering("kept"));

    assertThat(store.renew("n", "a", SHORT)).isFalse();
    assertThat(store.release("n", "a")).isFalse();
    assertThat(store.claim("n", "a", SHORT)).isInstanceOf(Claim.Completed.class);
    assertThat(answer("n")).isEqualTo("kept");
  }

  @Test
  void aReceiptOutlivesItsLease() {
    won("n", "a", SHORT);
    won("for ever", "a", SHORT);
    complete("n", "a", PLAIN);
    store.complete("for ever", "a", PLAIN, null);
    passes(SHORT);

    completed("n");
    completed("for ever");
  }

  @Test
  void aReceiptIsForgottenWhenItsTimeIsOverOrNeverByAStoreThatCannotForget() {
    won("n", "a", LONG); // however long the lease was
    store.complete("n", "a", answering("old"), store.forgets() ? SHORT : null);
    passes(SHORT);
    if (store.forgets()) {
      forgotten();
    } else {
      assertThat(answer("n")).isEqualTo("old");
    }
  }

  private void forgotten() {
    won("n", "b", LONG);
    held("n", "a");
    assertThat(complete("n", "b", PLAIN)).isTrue();
    assertThat(completed("n").completion().answer()).as("nothing of the old one").isNull();
  }

  @Test
  void namesAreComparedByteForByte() {
    List<String> names =
        List.of("straße", "strasse", "Straße", "stra\u00dfe ", "a\u0308", "\u00e4");
    for (String name : names) {
      won(name, "owner of " + name, LONG);
    }
    for (String name : names) {
      held(name, "somebody else");
    }
  }

  private void won(String name, String token, Duration lease) {
    assertThat(store.claim(name, token, lease)).isEqualTo(new Claim.Won());
  }

  private Claim.Held held(String name, String token) {
    Claim claim = store.claim(name, token, LONG);
    assertThat(claim).isInstanceOf(Claim.Held.class);
    return (Claim.Held) claim;
  }

  private Claim.Completed completed(String name) {
    Claim claim = store.claim(name, "somebody else", LONG);
    assertThat(claim).isInstanceOf(Claim.Completed.class);
    return (Claim.Completed) claim;
  }

  private String answer(String name) {
    return new String(StoreFixture.present(completed(name).completion().answer()), UTF_8);
  }

  private boolean complete(String name, String token, Completion completion) {
    return store.complete(name, token, completion, store.forgets() ? LONG : null);
  }

  private static Completion answering(String text) {
    return new Completion(new byte[0], "text/plain", text.getBytes(UTF_8));
  }

  /** Lets time pass at the store, which only real time can. */
  static void passes(Duration time) {
    try {
      TimeUnit.MILLISECONDS.sleep(time.toMillis() + 50);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while time passes.", e);
    }
  }
}
