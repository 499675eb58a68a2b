package dev.pigeonhole;

import java.time.Instant;

/**
 * Why an attempt failed, as it is stored: bounded, and escaped so that saving it can never fail.
 *
 * @param code a stable code where the library knows the reason, else {@code PH-HND-01}
 * @param type the exception's class name, or the code where there was no exception
 * @param message the exception's message, at most 2,000 characters
 * @param stack the stack trace, at most 8,000 characters; empty where there was no exception
 * @param fingerprint equal for failures of the same type that came out of the same method, whatever
 *     numbers are in their names: the innermost that is neither Java's nor this library's own, so
 *     one of the application or of a library that it calls; the code where there was no exception
 * @param at when it happened, by the clock of the node
 */
public record Failure(
    ErrorCode code, String type, String message, String stack, String fingerprint, Instant at) {

  /**
   * Whether no other try could do better: the handler said never ({@code PH-HND-04}), or cannot
   * read the content ({@code PH-PAY-…}).
   */
  public boolean isFinal() {
    return code == ErrorCode.HANDLER_POISONED || code.text().startsWith("PH-PAY-");
  }
}
