package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Interceptor;
import org.jspecify.annotations.Nullable;

/**
 * Tells Java Flight Recorder of attempts and polls, where the JVM has it: a run-time image may come
 * without the module {@code jdk.jfr}, and then its classes must not even be looked for. While
 * nobody records, a record costs an object that does not outlive the call.
 */
final class FlightRecords {
  private static final boolean PRESENT = ModuleLayer.boot().findModule("jdk.jfr").isPresent();

  private FlightRecords() {}

  /** Null where nobody records. */
  static @Nullable Object beginAttempt() {
    return PRESENT ? HandlerAttemptRecord.begun() : null;
  }

  static void endAttempt(Object begun, Attempt attempt, Interceptor.End end) {
    ((HandlerAttemptRecord) begun).ended(attempt, end);
  }

  /** Null where nobody records. */
  static @Nullable Object beginPoll() {
    return PRESENT ? PollRecord.begun() : null;
  }

  static void endPoll(Object begun, String inbox, int deliveries) {
    ((PollRecord) begun).ended(inbox, deliveries);
  }
}
