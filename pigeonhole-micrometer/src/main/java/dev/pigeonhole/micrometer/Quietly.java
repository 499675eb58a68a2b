package dev.pigeonhole.micrometer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls what observes messages: if it fails, the failure is logged, and no message is affected. */
final class Quietly {
  private static final Logger LOG = LoggerFactory.getLogger(Quietly.class);

  private Quietly() {}

  /** Whether it did not fail. */
  static boolean run(Runnable step) {
    try {
      step.run();
      return true;
    } catch (RuntimeException e) {
      LOG.warn("An observation or a trace failed; the message is processed without it", e);
      return false;
    }
  }
}
