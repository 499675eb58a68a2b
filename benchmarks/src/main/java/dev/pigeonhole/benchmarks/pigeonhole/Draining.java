package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;

/** Delivering a backlog. */
final class Draining {

  private Draining() {}

  static long accepted(Run run) throws Exception {
    return drain(run, LoadedInbox::acceptAll);
  }

  /** A backlog that may be larger than the heap. */
  static long prefilled(Run run) throws Exception {
    Prefill.of(run).fresh();
    return drain(run, loaded -> {});
  }

  /** What comes between building an inbox and starting it. */
  @FunctionalInterface
  private interface Filling {
    void fill(LoadedInbox loaded) throws Exception;
  }

  private static long drain(Run run, Filling filling) throws Exception {
    Gate gate = new Gate();
    try (LoadedInbox loaded = LoadedInbox.handling(run, Messages.of(run), payload -> gate.pass())) {
      filling.fill(loaded);
      loaded.startOnBacklog();
      gate.awaitFirst();
      run.begin();
      gate.open();
      return loaded.finish();
    }
  }
}
