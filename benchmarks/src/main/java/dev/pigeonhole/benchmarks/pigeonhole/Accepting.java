package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.SQLException;

/** Accepting by an inbox that was not started: nothing is delivered. */
final class Accepting {

  private Accepting() {}

  static long batches(Run run) throws Exception {
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.of(run), 1)) {
      run.begin();
      loaded.acceptAll();
      run.end();
    }
    return check(run);
  }

  /** One message for each call, by so many threads. */
  static long singles(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (LoadedInbox loaded = LoadedInbox.counting(run, messages, 1)) {
      run.begin();
      Load.run(
          messages.count(),
          run.number("threads"),
          1,
          (from, to) ->
              LoadedInbox.checkNew(loaded.inbox.accept(Messages.NAME, loaded.message(from))));
      run.end();
    }
    return check(run);
  }

  private static long check(Run run) throws SQLException {
    try (InboxTables tables = InboxTables.all(run.connect())) {
      return tables.checkAccepted(run.messages(), 1);
    }
  }
}
