package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Lanes;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Run;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A backlog that several processes deliver, each with its share of the lanes. */
final class Workers {

  private static final String WITH_THEIR_SHARE =
      """
      SELECT count(*) FROM (
        SELECT owner FROM pigeonhole_lane WHERE owner <> 0
        GROUP BY owner HAVING count(*) >= %d
      ) AS s
      """;

  // Lanes change hands with the beat: sharing them out takes half a minute with that of 2 s.
  private static final Map<String, String> ORDER = Map.of("beatMillis", "200");

  private Workers() {}

  static long drain(Run run) throws Exception {
    int count = run.number("workers");
    List<WorkerProcess> workers = new ArrayList<>();
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.of(run), 1)) {
      for (int i = 0; i < count; i++) {
        workers.add(WorkerProcess.start(run, ORDER));
      }
      for (WorkerProcess worker : workers) {
        worker.awaitReady();
      }
      awaitShares(run, count);
      WorkerProcess.warmUp(run, count);
      return drain(run, loaded, workers);
    } finally {
      workers.forEach(WorkerProcess::close);
    }
  }

  private static long drain(Run run, LoadedInbox loaded, List<WorkerProcess> workers)
      throws Exception {
    int messages = run.messages();
    try (InboxTables tables = new InboxTables(run.connect())) {
      loaded.acceptAll();
      run.begin();
      for (WorkerProcess worker : workers) {
        worker.open();
      }
      tables.awaitReceipts(messages);
      run.end();
      List<Map<String, String>> reports = new ArrayList<>();
      for (WorkerProcess worker : workers) {
        reports.add(worker.end());
      }
      WorkerProcess.checkCalls(messages, reports);
      return tables.checkCompleted(messages, 1);
    }
  }

  private static void awaitShares(Run run, int workers) throws Exception {
    try (Tables tables = new Tables(run.connect())) {
      tables.await(WITH_THEIR_SHARE.formatted(Lanes.COUNT / workers), workers);
    }
  }
}
