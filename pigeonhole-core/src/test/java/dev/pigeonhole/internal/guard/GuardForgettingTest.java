package dev.pigeonhole.internal.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Pruning.Fate;
import dev.pigeonhole.store.Pruning.Step;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** When a guard forgets, where nothing else was said. */
class GuardForgettingTest {
  private static final Instant NOW = Instant.parse("2026-03-04T05:06:07Z");

  private final GuardSettings.Draft draft = new GuardSettings.Draft();
  private final GuardRetention retention = retention(new Step(0, 0, false)).orElseThrow();

  private Optional<GuardRetention> retention(Step answered) {
    Maintenance store =
        (Maintenance)
            Proxy.newProxyInstance(
                Maintenance.class.getClassLoader(),
                new Class<?>[] {Maintenance.class},
                (proxy, method, args) -> answered);
    return GuardRetention.of(store, new Events("inbox", List.of()), draft.freeze());
  }

  /** What becomes of a message that two handlers have finished a month ago. */
  private Fate judge(Map<Integer, Instant> keepUntil) {
    Instant came = NOW.minus(Duration.ofDays(30));
    return retention.judge(
        new Pruning.Finished("t", came, NOW, false, Map.of(1, came, 2, came), keepUntil, Map.of()));
  }

  @Test
  void b71_aMessageIsForgottenWhenTheTimeOfItsLastReceiptIsOver() {
    Instant over = NOW.minusSeconds(1);
    assertThat(judge(Map.of(1, over, 2, NOW.plusNanos(1_000)))).isEqualTo(Fate.KEEP);
    assertThat(judge(Map.of(1, over, 2, NOW))).isEqualTo(Fate.DELETE);
  }

  @Test
  void whatAnInlineHandlerHasFinishedTooIsLeftToTheInboxOnceTheGuardNeedsItNoLonger() {
    assertThat(judge(Map.of(1, NOW.plusSeconds(1)))).isEqualTo(Fate.KEEP);
    assertThat(judge(Map.of(1, NOW))).isEqualTo(Fate.HAND_OVER);
  }

  @Test
  void b71_receiptsAreKeptForSevenDaysAndLookedThroughEveryHour() {
    assertThat(draft.freeze().keepReceipts()).isEqualTo(Duration.ofDays(7));
    assertThat(retention.walk()).isEqualTo(Pruning.Walk.GUARDS);
    assertThat(retention.youngest()).isEqualTo(Duration.ofDays(7));
    assertThat(retention.betweenRounds()).isEqualTo(Duration.ofHours(1));
  }

  @Test
  void whoeverKeepsReceiptsForEverLooksForAnswersIfThoseHaveATime() {
    draft.keepReceipts = null;
    assertThat(retention(new Step(0, 0, false))).isEmpty();

    draft.keepAnswers = Duration.ofMinutes(20);
    GuardRetention ofAnswers = retention(new Step(0, 0, false)).orElseThrow();
    assertThat(ofAnswers.walk()).isEqualTo(Pruning.Walk.ANSWERS);
    assertThat(ofAnswers.betweenRounds()).isEqualTo(Duration.ofMinutes(1));
  }

  @Test
  void whoeverFindsSomebodyElseAtItTriesAgainSoonAndNotInTheNextRound() {
    assertThat(retention(Step.inTheWay()).orElseThrow().step()).isEqualTo(Duration.ofSeconds(1));
    assertThat(retention(new Step(0, 0, true)).orElseThrow().step())
        .isEqualTo(Duration.ofMillis(10));
    assertThat(retention(new Step(0, 0, false)).orElseThrow().step())
        .isEqualTo(Duration.ofHours(1));
  }

  @Test
  void v9_aFleetThatStartsTogetherDoesNotLookTogether() {
    Random random = new Random(4);
    List<Duration> first =
        random.longs(50).mapToObj(seed -> retention.first(new Random(seed))).toList();

    assertThat(first)
        .allMatch(wait -> !wait.isNegative() && wait.compareTo(Duration.ofHours(1)) <= 0)
        .anyMatch(wait -> wait.compareTo(Duration.ofMinutes(10)) < 0)
        .anyMatch(wait -> wait.compareTo(Duration.ofMinutes(50)) > 0)
        .doesNotHaveDuplicates();
  }
}
