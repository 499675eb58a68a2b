package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.internal.registry.Names;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * What the log says of an attempt while it is under way, in the keys of slf4j's MDC. Where the
 * thread belongs to somebody else, as with {@code drain()}, its own values come back afterwards.
 */
final class LogContext implements AutoCloseable {
  static final String INBOX = "pigeonhole.inbox";
  static final String HANDLER = "pigeonhole.handler.key";
  static final String MESSAGE = "pigeonhole.message.id";
  static final String ATTEMPT = "pigeonhole.attempt";

  private final @Nullable String handlerBefore;
  private final @Nullable String messageBefore;
  private final @Nullable String attemptBefore;

  private LogContext() {
    this.handlerBefore = MDC.get(HANDLER);
    this.messageBefore = MDC.get(MESSAGE);
    this.attemptBefore = MDC.get(ATTEMPT);
  }

  static LogContext of(Attempt attempt) {
    LogContext context = new LogContext();
    MDC.put(HANDLER, attempt.handler.key());
    MDC.put(MESSAGE, Names.shown(attempt.work.message().id()));
    MDC.put(ATTEMPT, Integer.toString(attempt.attempt()));
    return context;
  }

  /** One call for several messages has a handler in common, and nothing else. */
  static LogContext ofAll(List<Attempt> attempts) {
    if (attempts.size() == 1) {
      return of(attempts.get(0));
    }
    LogContext context = new LogContext();
    if (!attempts.isEmpty()) {
      MDC.put(HANDLER, attempts.get(0).handler.key());
    }
    return context;
  }

  @Override
  public void close() {
    restore(HANDLER, handlerBefore);
    restore(MESSAGE, messageBefore);
    restore(ATTEMPT, attemptBefore);
  }

  private static void restore(String key, @Nullable String before) {
    if (before == null) {
      MDC.remove(key);
    } else {
      MDC.put(key, before);
    }
  }
}
