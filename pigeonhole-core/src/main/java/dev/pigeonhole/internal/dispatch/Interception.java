package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Interceptor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Calls handlers through the interceptors of an inbox; the first one given stands outermost. */
final class Interception {
  private final List<Interceptor> interceptors;

  Interception(List<Interceptor> interceptors) {
    this.interceptors = interceptors;
  }

  void call(Attempt attempt, Interceptor.Next handler) throws Exception {
    if (interceptors.isEmpty()) {
      handler.proceed();
    } else {
      new Call(attempt, handler).run();
    }
  }

  /** Around each attempt of a batch, one inside the other: the handler is called once. */
  void call(List<Attempt> attempts, Interceptor.Next handler) throws Exception {
    if (interceptors.isEmpty() || attempts.isEmpty()) {
      handler.proceed();
    } else {
      List<Attempt> rest = attempts.subList(1, attempts.size());
      call(attempts.get(0), () -> call(rest, handler));
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
