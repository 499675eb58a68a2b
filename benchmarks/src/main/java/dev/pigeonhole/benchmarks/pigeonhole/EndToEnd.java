package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;

/** Accepting and delivering at the same time, until the last receipt is durable. */
final class EndToEnd {

  private EndToEnd() {}

  static long plain(Run run) throws Exception {
    return withHandlers(run, 1);
  }

  static long withHandlers(Run run, int handlers) throws Exception {
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.of(run), handlers)) {
      loaded.start();
      run.begin();
      loaded.acceptAll();
      return loaded.finish();
    }
  }

  /** Behind so many messages that are known and finished. */
  static long afterManyFinished(Run run) throws Exception {
    Prefill.of(run).finished(run.number("rows"), 1);
    return plain(run);
  }

  /** Beside so many deliveries that are due tomorrow. */
  static long besideManyNotDue(Run run) throws Exception {
    Prefill.of(run).notDue(run.number("rows"));
    return plain(run);
  }
}
