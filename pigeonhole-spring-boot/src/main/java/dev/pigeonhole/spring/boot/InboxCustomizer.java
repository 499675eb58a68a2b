package dev.pigeonhole.spring.boot;

import dev.pigeonhole.InboxBuilder;

/**
 * Changes the inbox of the application before it is built, after the properties were applied: for
 * listeners, interceptors, and whatever else has no property. All beans of this type are called, in
 * their order.
 */
@FunctionalInterface
public interface InboxCustomizer {

  /** Whether it is meant for the inbox of this name, where there are several. Default all. */
  default boolean isFor(String inbox) {
    return true;
  }

  /** Gives the builder what it lacks. */
  void customize(InboxBuilder inbox);
}
