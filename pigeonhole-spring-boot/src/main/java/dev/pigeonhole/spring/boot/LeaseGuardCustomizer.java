package dev.pigeonhole.spring.boot;

import dev.pigeonhole.lease.LeaseGuard;

/**
 * Changes the lease guard of the application, after the properties were applied. All beans of this
 * type are called, in their order.
 */
@FunctionalInterface
public interface LeaseGuardCustomizer {

  /** Answers a guard with what it lacks, or the same. */
  LeaseGuard customize(LeaseGuard guard);
}
