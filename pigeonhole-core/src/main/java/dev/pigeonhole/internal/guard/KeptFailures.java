package dev.pigeonhole.internal.guard;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.GuardKey;
import dev.pigeonhole.KeptFailureException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.internal.dispatch.Failures;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.Guards.Verdict;
import dev.pigeonhole.store.StoreException;
import java.util.List;

/** Failures that are kept as answers: the name of a class, a line break, a message. */
final class KeptFailures {
  /** No codec writes it, so an answer of this type is a failure. */
  private static final String CONTENT_TYPE = "application/vnd.pigeonhole.failure";

  private KeptFailures() {}

  /** Whether a failure is one of these, and none that says itself that it may be gone next time. */
  static boolean keeps(List<Class<? extends Exception>> types, Exception failure) {
    boolean passing =
        failure instanceof StoreException
            || failure instanceof RetryLaterException
            || failure instanceof InterruptedException
            || failure instanceof NeverKept;
    return !passing && types.stream().anyMatch(type -> type.isInstance(failure));
  }

  /**
   * Kept as long as the receipt: without it a repeat of a failure would look like one of a success.
   */
  static Guards.Answer answer(Exception failure) {
    return new Guards.Answer(Failures.brief(failure).getBytes(UTF_8), CONTENT_TYPE, null);
  }

  /**
   * @throws KeptFailureException if what is known is a failure
   */
  static void refuseIfOne(GuardKey key, Verdict.Known known) {
    Guards.Answer answer = known.answer();
    if (answer == null || answer.content() == null || !answer.contentType().equals(CONTENT_TYPE)) {
      return;
    }
    String[] lines = new String(answer.content(), UTF_8).split("\n", 2);
    throw new KeptFailureException(key, lines[0], lines.length > 1 ? lines[1] : "", known.at());
  }
}
