package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.event.InboxListener;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.UnaryOperator;

/**
 * As much as goes through, but never more than a few batches on their way. A backlog would hide
 * what these scenarios are about: retention waits while handlers are behind.
 */
final class Steady {

  private static final int PRODUCERS = 2;
  private static final int ON_THE_WAY = 5_000;

  // More than go through in a second.
  private static final int MOST_PER_SECOND = 100_000;

  private static final Duration KEPT = Duration.ofDays(7);
  private static final int DAYS_AGO = 30;

  private Steady() {}

  /** While retention deletes what was finished long ago. */
  static long whilePruning(Run run) throws Exception {
    Prefill.of(run).finished(run.number("rows"), DAYS_AGO);
    LongAdder pruned = new LongAdder();
    InboxListener counting = InboxListener.create().onPruned(event -> pruned.add(event.deleted()));
    try (LoadedInbox loaded =
        open(run, Messages.of(run), inbox -> inbox.keepReceipts(KEPT).listener(counting))) {
      loaded.start();
      long before = pruned.sum();
      run.begin();
      Load.run(
          run.messages(),
          PRODUCERS,
          LoadedInbox.BATCH,
          (from, to) -> {
            loaded.completions.await(from - ON_THE_WAY);
            loaded.accept(from, to);
          });
      long completed = loaded.finish();
      run.note("pruned", pruned.sum() - before);
      return completed;
    }
  }

  /** For some time, perhaps beside a transaction that keeps the server from forgetting anything. */
  static long underSnapshot(Run run) throws Exception {
    int seconds = run.number("seconds");
    Messages messages = Messages.atMost(run, seconds * MOST_PER_SECOND);
    AtomicInteger accepted = new AtomicInteger();
    try (LoadedInbox loaded = open(run, messages, UnaryOperator.identity());
        Connection holder = run.connect()) {
      loaded.start();
      if (run.number("held") == 1) {
        hold(holder);
      }
      run.begin();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
      Load.run(
          messages.count(),
          PRODUCERS,
          LoadedInbox.BATCH,
          (from, to) -> {
            if (System.nanoTime() - end < 0) {
              loaded.completions.await(accepted.get() - ON_THE_WAY);
              loaded.accept(from, to);
              accepted.addAndGet(to - from);
            }
          });
      return loaded.finish(accepted.get());
    }
  }

  private static void hold(Connection holder) throws SQLException {
    holder.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    holder.setAutoCommit(false);
    try (Statement statement = holder.createStatement()) {
      String any = InboxTables.name(holder, "inbox");
      statement.executeQuery("SELECT count(*) FROM " + any).close();
    }
  }

  private static LoadedInbox open(Run run, Messages messages, UnaryOperator<InboxBuilder> options) {
    Completions completions = new Completions(messages, 1);
    return new LoadedInbox(
        run, messages, completions, 1, LoadedInbox.channel(1, completions::handled), options);
  }
}
