package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Outcome;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** How attempts are judged. */
class EndingsTest {
  private final List<InboxEvent> told = new ArrayList<>();
  private final List<Settled> settled = new ArrayList<>();
  private final Settler settler = new Settler(takesEverything(), 100, settled::addAll);
  private final Endings endings =
      new Endings(
          settler,
          new Events("shop", List.of(told::add)),
          RetryPolicy.fixed(Duration.ofSeconds(7)).maxAttempts(3),
          () -> Instant.EPOCH);
  private final Attempt attempt = Handlers.attempt(Handlers.plain("h", received -> {}), 7);

  private static Deliveries takesEverything() {
    return (Deliveries)
        Proxy.newProxyInstance(
            EndingsTest.class.getClassLoader(),
            new Class<?>[] {Deliveries.class},
            (self, method, args) -> Set.of());
  }

  private Outcome failedWith(Throwable thrown) {
    endings.failed(attempt, thrown);
    settler.flushAll();
    assertThat(settled).hasSize(1);
    return settled.get(0).settlement().outcome();
  }

  @Test
  void contentThatCannotBeReadIsPoisonedUncounted() {
    assertThat(failedWith(unreadable()))
        .isInstanceOfSatisfying(
            Outcome.Poisoned.class,
            poisoned -> {
              assertThat(poisoned.counted()).isFalse();
              assertThat(poisoned.failure().code()).isEqualTo(ErrorCode.PAYLOAD_UNDECODABLE);
            });
  }

  @Test
  void aHandlerThatCannotReadSomethingElseHasFailedLikeAnyOther() {
    attempt.decoded("this one could be read");
    assertThat(failedWith(unreadable()))
        .isInstanceOfSatisfying(
            Outcome.RetryAfter.class,
            retry -> {
              assertThat(retry.failure().code()).isEqualTo(ErrorCode.HANDLER_FAILED);
              assertThat(retry.failure().type()).isEqualTo(CodecException.class.getName());
            });
  }

  private static CodecException unreadable() {
    return new CodecException(ErrorCode.PAYLOAD_UNDECODABLE, "not even JSON", null);
  }

  @Test
  void whoAsksForLaterHasNotFailed() {
    assertThat(failedWith(RetryLaterException.uncounted(Duration.ofMinutes(1))))
        .isInstanceOf(Outcome.LaterUncounted.class);
    assertThat(told).isEmpty();
  }

  @Test
  void theTimeOfACompletionIsThatOfItsAttempt() {
    attempt.started();
    attempt.end(Attempt.State.ENDED);
    Duration took = attempt.took();
    endings.completed(attempt);
    settler.flushAll();

    assertThat(told)
        .singleElement()
        .isInstanceOfSatisfying(
            InboxEvent.Completed.class, event -> assertThat(event.took()).isEqualTo(took));
  }
}
