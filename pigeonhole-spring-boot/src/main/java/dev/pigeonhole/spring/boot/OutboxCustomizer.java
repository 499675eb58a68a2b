package dev.pigeonhole.spring.boot;

import dev.pigeonhole.outbox.OutboxBuilder;

/**
 * Tells the outbox of the application its routes, and whatever else has no property, before it is
 * built. All beans of this type are called, in their order.
 */
@FunctionalInterface
public interface OutboxCustomizer {

  /** Gives the builder what it lacks. */
  void customize(OutboxBuilder outbox);
}
