package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Interceptor;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls handlers through the interceptors of an inbox; the first one given stands outermost. What
 * is logged meanwhile says for which attempt.
 */
final class Interception {
  private static final Logger LOG = LoggerFactory.getLogger(Interception.class);

  private final List<Interceptor> interceptors;

  Interception(List<Interceptor> interceptors) {
    this.interceptors = interceptors;
  }

  void call(Attempt attempt, Interceptor.Next handler) throws Exception {
    try (LogContext context = LogContext.of(attempt)) {
      intercept(attempt, handler);
    }
  }

  private void intercept(Attempt attempt, Interceptor.Next handler) throws Exception {
    if (interceptors.isEmpty()) {
      handler.proceed();
    } else {
      attempt.entered(this);
      new Call(attempt, handler).run();
    }
  }

  /** It is decided how the attempt ends; none of the interceptors can change that. */
  void ended(Attempt attempt, Interceptor.End end, @Nullable Throwable cause) {
    for (Interceptor interceptor : interceptors) {
      try {
        interceptor.ended(attempt, end, cause);
      } catch (OutOfMemoryError e) {
        throw e;
      } catch (Throwable e) {
        LOG.warn("An interceptor failed on the end of an attempt; it is ignored", e);
      }
    }
  }

  /** The handler of a batch, for those that no interceptor has refused. */
  interface BatchCall {
    void proceed(List<Attempt> admitted) throws Exception;
  }

  /**
   * Around each attempt of a batch, one inside the other: the handler is called once. What an
   * interceptor throws by itself concerns its own attempt, and the others go on.
   *
   * @param failed takes what failed by an interceptor; what the handler throws is thrown
   */
  void call(List<Attempt> attempts, Map<Attempt, Throwable> failed, BatchCall handler)
      throws Exception {
    try (LogContext context = LogContext.ofAll(attempts)) {
      if (interceptors.isEmpty()) {
        handler.proceed(attempts);
        return;
      }
      Around around = new Around(attempts, failed, handler);
      around.from(0);
      around.throwUnlessReached();
      around.throwOfHandler();
    }
  }

  private final class Around {
    private final List<Attempt> attempts;
    private final Map<Attempt, Throwable> failed;
    private final BatchCall handler;
    private @Nullable Throwable ofHandler;

    /** Whether it was decided for whom the handler is called; then the call has been made. */
    private boolean reached;

    private @Nullable Throwable onTheWay;

    Around(List<Attempt> attempts, Map<Attempt, Throwable> failed, BatchCall handler) {
      this.attempts = attempts;
      this.failed = failed;
      this.handler = handler;
    }

    void throwOfHandler() throws Exception {
      Throwable thrown = ofHandler;
      if (thrown != null) {
        Interception.<Exception>rethrow(thrown);
      }
    }

    /**
     * The interceptors of all attempts are on one stack, which may be too small for them. Then the
     * handler was called for none of them, whatever their interceptors do with the error.
     */
    void throwUnlessReached() throws Exception {
      Throwable why = onTheWay;
      if (reached) {
        return;
      }
      if (why == null || why instanceof StackOverflowError) {
        throw new InboxException(
            ErrorCode.HANDLER_NOT_CALLED,
            ("The interceptors of a batch of %d messages need more stack than the thread has, so the"
                    + " handler was not called. Let the handler take fewer messages, or give the"
                    + " threads more stack (-Xss).")
                .formatted(attempts.size()),
            why);
      }
      Interception.<Exception>rethrow(why);
    }

    /** Goes on inside the interceptors of this attempt, or beside them if they refuse it. */
    void from(int position) {
      if (position == attempts.size()) {
        callHandler();
        return;
      }
      Attempt attempt = attempts.get(position);
      boolean[] inside = {false};
      try {
        intercept(
            attempt,
            () -> {
              inside[0] = true;
              from(position + 1);
              throwUnlessReached();
              throwOfHandler(); // as each of them would see it alone
            });
      } catch (Throwable e) {
        if (inside[0] && !reached) {
          onTheWay = onTheWay == null ? e : onTheWay; // no interceptor's fault
        } else if (e != ofHandler) {
          failed.put(attempt, e);
        }
      }
      if (!inside[0]) {
        from(position + 1);
      }
    }

    private void callHandler() {
      List<Attempt> admitted =
          attempts.stream().filter(attempt -> !failed.containsKey(attempt)).toList();
      reached = true;
      if (admitted.isEmpty()) {
        return;
      }
      try {
        handler.proceed(admitted);
      } catch (Throwable e) {
        ofHandler = e;
      }
    }
  }

  private final class Call {
    private final Attempt attempt;
    private final Interceptor.Next handler;
    private boolean called;
    private @Nullable Throwable failure;

    Call(Attempt attempt, Interceptor.Next handler) {
      this.attempt = attempt;
      this.handler = handler;
    }

    void run() throws Exception {
      proceed(0);
      if (!called) {
        throw new InboxException(
            ErrorCode.HANDLER_NOT_CALLED,
            "An interceptor returned without calling handler '%s', so nothing was handled. Let it"
                    .formatted(attempt.handler.key())
                + " call next.proceed(), or throw.");
      }
      if (failure != null) {
        Interception.<Exception>rethrow(failure); // swallowed on the way, but not undone
      }
    }

    private void proceed(int position) throws Exception {
      if (position < interceptors.size()) {
        interceptors.get(position).around(attempt, () -> proceed(position + 1));
        return;
      }
      if (called) {
        throw new IllegalStateException("An interceptor called proceed() twice.");
      }
      called = true;
      try {
        handler.proceed();
      } catch (Throwable e) {
        failure = e;
        throw e;
      }
    }
  }

  /** A handler in another language may throw what Java would have made it declare. */
  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> void rethrow(Throwable thrown) throws T {
    throw (T) thrown;
  }
}
