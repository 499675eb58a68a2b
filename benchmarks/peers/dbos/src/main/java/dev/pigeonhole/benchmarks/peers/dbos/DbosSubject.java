package dev.pigeonhole.benchmarks.peers.dbos;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.zaxxer.hikari.HikariDataSource;
import dev.dbos.transact.DBOS;
import dev.dbos.transact.DBOSClient;
import dev.dbos.transact.DBOSClient.EnqueueOptions;
import dev.dbos.transact.config.DBOSConfig;
import dev.dbos.transact.workflow.Queue;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.time.Duration;
import java.util.Set;

/** A message is a workflow on a queue; its id is the id of the workflow. */
public final class DbosSubject implements Subject {

  private static final int PRODUCERS = Setting.number("producers", 4);
  private static final int POLL_MILLIS = Setting.number("pollMillis", 20);
  private static final String QUEUE = "handler";

  @Override
  public String dedup() {
    return "enqueueWorkflow answers a workflow id that is there with the workflow that is there; its"
        + " row is kept for ever as the marker.";
  }

  @Override
  public String effects() {
    return "at least once: the workflow and its completion are apart";
  }

  @Override
  public String settings() {
    return ("DBOS Transact 1.1.0-m6, queue without limits (they only lower its speed), polling"
            + " interval %d ms, %d producers, one workflow a call (there is no call for several),"
            + " pool 24")
        .formatted(POLL_MILLIS, PRODUCERS);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  /** Its first launch makes the tables. */
  @Override
  public void prepare(Run run) {
    try (HikariDataSource pool = run.pool(8);
        DBOS dbos = dbos(run, pool, new Calls(0))) {
      dbos.launch();
    }
  }

  @Override
  public long work(Run run) throws Exception {
    Calls calls = new Calls(run.messages());
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(24)) {
      try (DBOS dbos = dbos(run, pool, calls);
          DBOSClient client = new DBOSClient(pool, run.schema())) {
        dbos.launch();
        run.begin();
        Load.run(run.messages(), PRODUCERS, 1, (from, to) -> enqueue(client, run, from));
        calls.awaitAll();
        tables.awaitNone("workflow_status WHERE status <> 'SUCCESS'");
        run.end();
      }
      return Math.min(tables.count("workflow_status WHERE status = 'SUCCESS'"), calls.once());
    }
  }

  private static DBOS dbos(Run run, HikariDataSource pool, Calls calls) {
    DBOS dbos =
        new DBOS(
            DBOSConfig.defaults("benchmark")
                .withDataSource(pool)
                .withDatabaseSchema(run.schema())
                .withAppVersion("1"));
    dbos.registerQueue(new Queue(QUEUE).withPollingInterval(Duration.ofMillis(POLL_MILLIS)));
    dbos.registerProxy(Receiver.class, new CountingReceiver(calls));
    return dbos;
  }

  private static void enqueue(DBOSClient client, Run run, int message) {
    String id = run.id(message);
    client.enqueueWorkflow(
        new EnqueueOptions("receive", CountingReceiver.class.getName(), QUEUE).withWorkflowId(id),
        new Object[] {id, new String(run.payload(message), ISO_8859_1)});
  }
}
