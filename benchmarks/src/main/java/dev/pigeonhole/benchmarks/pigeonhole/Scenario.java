package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.subject.Run;

/** One way to put an inbox under load. */
@FunctionalInterface
interface Scenario {

  /** As {@link dev.pigeonhole.benchmarks.subject.Subject#work}. */
  long play(Run run) throws Exception;
}
