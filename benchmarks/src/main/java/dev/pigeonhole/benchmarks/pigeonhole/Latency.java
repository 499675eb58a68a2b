package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.Message;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Messages at a fixed rate, one for each call, whatever becomes of those before: by so many senders
 * that there is always one left when the next message is due.
 */
final class Latency {

  private static final int SENDERS = 16;

  private Latency() {}

  /** Options: {@code rate} messages a second; with {@code processes} 2, handled by another one. */
  static long atRate(Run run) throws Exception {
    long interval = TimeUnit.SECONDS.toNanos(1) / run.number("rate");
    return run.number("processes") == 2
        ? handledElsewhere(run, interval)
        : handledHere(run, interval);
  }

  private static long handledHere(Run run, long interval) throws Exception {
    Latencies latencies = new Latencies();
    try (LoadedInbox loaded = LoadedInbox.handling(run, Messages.of(run), latencies::record)) {
      loaded.start();
      run.begin();
      send(loaded, interval);
      long completed = loaded.finish();
      latencies.percentiles().forEach(run::note);
      return completed;
    }
  }

  private static long handledElsewhere(Run run, long interval) throws Exception {
    Messages messages = Messages.of(run);
    try (WorkerProcess worker = WorkerProcess.start(run, Map.of("timed", "yes"))) {
      worker.awaitReady();
      worker.open();
      WorkerProcess.warmUp(run, 1);
      try (LoadedInbox loaded = LoadedInbox.counting(run, messages, 1);
          InboxTables tables = new InboxTables(run.connect())) {
        run.begin();
        send(loaded, interval);
        tables.awaitReceipts(messages.count());
        run.end();
        Map<String, String> report = worker.end();
        WorkerProcess.checkCalls(messages.count(), List.of(report));
        report.forEach(run::note);
        return tables.checkCompleted(messages.count(), 1);
      }
    }
  }

  private static void send(LoadedInbox loaded, long interval) throws Exception {
    long began = System.nanoTime();
    Crew.run(
        SENDERS,
        member -> {
          for (int i = member; i < loaded.messages.count(); i += SENDERS) {
            long intended = began + i * interval;
            long left = intended - System.nanoTime();
            while (left > 0) {
              LockSupport.parkNanos(left);
              left = intended - System.nanoTime();
            }
            byte[] payload = loaded.messages.payload(i, intended);
            Message message = Message.of(loaded.messages.id(i), payload);
            LoadedInbox.checkNew(loaded.inbox.accept(Messages.NAME, message));
          }
        });
  }
}
