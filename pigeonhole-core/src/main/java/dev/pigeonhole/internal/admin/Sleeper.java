package dev.pigeonhole.internal.admin;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How time passes for somebody who rests. */
@FunctionalInterface
interface Sleeper {

  /** By the clock on the wall. */
  Sleeper REAL = duration -> TimeUnit.NANOSECONDS.sleep(duration.toNanos());

  void sleep(Duration duration) throws InterruptedException;
}
