package dev.pigeonhole;

import dev.pigeonhole.admin.DeliveryState;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What became of a guarded run. Only {@link Ran} means that the body was run by this call; an
 * exception of the body reaches the caller as it is, and where it was kept, repeats get a {@link
 * KeptFailureException}.
 */
public sealed interface Guarded<R> {

  /** The body ran, and what it wrote commits with its receipt. */
  record Ran<R>(@Nullable R value) implements Guarded<R> {}

  /**
   * The body did not run, because this key is known to the handler.
   *
   * @param answer what the first run returned, if answers are kept and this one still is
   * @param firstRun when the first run was completed; when the message was received, where it has
   *     not been
   * @param state {@link DeliveryState#COMPLETED} after a first run; {@link
   *     DeliveryState#DISCARDED}, {@link DeliveryState#POISONED} or {@link DeliveryState#BLOCKED}
   *     where the inbox holds the message for an operator
   */
  record Repeat<R>(Optional<R> answer, Instant firstRun, DeliveryState state)
      implements Guarded<R> {}

  /** Another run of the same key was still under way when the wait was over: try again later. */
  record Busy<R>(Duration waited) implements Guarded<R> {}

  /** The key is known with another request: the sender has used it twice. Nothing ran. */
  record Conflict<R>(GuardKey key) implements Guarded<R> {}
}
