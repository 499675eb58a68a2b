package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;

/** Ends attempts under which the store has failed. */
final class StoreFailures {
  private static final int QUESTIONS = 3;
  private static final Duration PAUSE = Duration.ofMillis(250);

  private final Endings endings;
  private final Timeouts timeouts;
  private final Runner.Surroundings surroundings;

  StoreFailures(Endings endings, Timeouts timeouts, Runner.Surroundings surroundings) {
    this.endings = endings;
    this.timeouts = timeouts;
    this.surroundings = surroundings;
  }

  void end(Attempt attempt, StoreException e) {
    if (e.kind() == StoreException.Kind.UNKNOWN) {
      endOnceFree(attempt, e, QUESTIONS);
    } else {
      endings.storeFailed(attempt, e);
    }
  }

  /**
   * The connection is lost. A row that is free at its version shows that the transaction was rolled
   * back. Otherwise the server has committed, or has not noticed the loss yet and holds the row; a
   * settle would wait for it.
   */
  private void endOnceFree(Attempt attempt, StoreException e, int questions) {
    Delivery delivery = attempt.work.delivery();
    surroundings.askWhetherFree(
        delivery,
        free -> {
          if (free) {
            endings.storeFailed(attempt, e);
          } else if (questions == 1
              || !timeouts.later(PAUSE, () -> endOnceFree(attempt, e, questions - 1))) {
            surroundings.notOurs(delivery); // the next read shows whether it is still open
          }
        });
  }
}
