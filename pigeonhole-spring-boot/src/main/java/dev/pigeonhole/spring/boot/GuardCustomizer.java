package dev.pigeonhole.spring.boot;

import dev.pigeonhole.GuardBuilder;

/**
 * Changes the guard of the application before it is built, after the properties were applied. All
 * beans of this type are called, in their order.
 */
@FunctionalInterface
public interface GuardCustomizer {

  /** Gives the builder what it lacks. */
  void customize(GuardBuilder guard);
}
