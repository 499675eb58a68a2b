package dev.pigeonhole.benchmarks.pigeonhole;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.benchmarks.inbox.Effects;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.jdbc.JdbcStore;
import java.sql.Connection;

/** The inline guard: one message and one commit for each run. */
final class GuardRuns {

  private static final int THREADS = 8;

  private GuardRuns() {}

  static long all(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (HikariDataSource pool = run.pool(LoadedInbox.POOL);
        Guard guard = Guard.on(JdbcStore.of(pool)).build()) {
      run.begin();
      Load.run(messages.count(), THREADS, 1, (from, to) -> guardedInsert(guard, messages.id(from)));
      run.end();
    }
    try (Connection connection = run.connect()) {
      Effects.check(connection, messages.count(), 0);
    }
    try (InboxTables tables = InboxTables.all(run.connect())) {
      return tables.checkCompleted(messages.count(), 1);
    }
  }

  private static void guardedInsert(Guard guard, String id) throws Exception {
    GuardKey key = GuardKey.ofMessage(LoadedInbox.handlerKey(0), Messages.NAME, id);
    Guarded<Boolean> result =
        guard.run(
            key,
            tx -> {
              Effects.insert(tx.connection(), id);
              return true;
            });
    if (!(result instanceof Guarded.Ran)) {
      throw new IllegalStateException("Not run: " + result);
    }
  }
}
