package dev.pigeonhole.benchmarks.peers.dbscheduler;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerBuilder;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A message is a one-time task; its id is the name of the task instance. */
public final class DbSchedulerSubject implements Subject {

  private static final int THREADS = Setting.number("threads", 20);
  private static final int PRODUCERS = Setting.number("producers", 2);
  private static final int POLL_MILLIS = Setting.number("pollMillis", 100);
  private static final boolean IMMEDIATE = Setting.yes("immediate", true);

  // Lock-and-fetch, in multiples of the threads: fetch when fewer are in memory, and so many. The
  // defaults are those of its own performance page.
  private static final int LOWER = Setting.number("lower", 4);
  private static final int UPPER = Setting.number("upper", 20);

  // Of 1: scheduleIfNotExists, which tells a repeat by its answer, but commits each message.
  private static final int BATCH = Setting.number("batch", 500);

  @Override
  public String dedup() {
    String meaning =
        BATCH == 1
            ? "scheduleIfNotExists answers false to a repeat"
            : "a repeat makes scheduleBatch refuse its whole batch, which the caller then has to sift";
    return meaning
        + ", as long as the first is not done: the row is deleted on completion and no marker stays,"
        + " so a later repeat runs again.";
  }

  @Override
  public String effects() {
    return "at least once: the handler and the removal of its row are apart";
  }

  @Override
  public String settings() {
    return ("db-scheduler 16.12.0, %d threads, pollUsingLockAndFetch(%d, %d), polling interval %d ms,"
            + " immediate execution %s, %d producers, %s, payload as it is, pool 24")
        .formatted(
            THREADS,
            LOWER,
            UPPER,
            POLL_MILLIS,
            IMMEDIATE ? "on" : "off",
            PRODUCERS,
            BATCH == 1 ? "scheduleIfNotExists" : "scheduleBatch of " + BATCH);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  /** As its own schema file for PostgreSQL, without the index that only priorities need. */
  @Override
  public void prepare(Run run) throws SQLException {
    try (Tables tables = new Tables(run.connect())) {
      tables.execute(
          """
          CREATE TABLE scheduled_tasks (
            task_name text NOT NULL,
            task_instance text NOT NULL,
            task_data bytea,
            execution_time timestamp with time zone NOT NULL,
            picked boolean NOT NULL,
            picked_by text,
            last_success timestamp with time zone,
            last_failure timestamp with time zone,
            consecutive_failures int,
            last_heartbeat timestamp with time zone,
            version bigint NOT NULL,
            priority smallint,
            PRIMARY KEY (task_name, task_instance)
          )
          """,
          "CREATE INDEX execution_time_idx ON scheduled_tasks (execution_time)",
          "CREATE INDEX last_heartbeat_idx ON scheduled_tasks (last_heartbeat)");
    }
  }

  @Override
  public long work(Run run) throws Exception {
    Calls calls = new Calls(run.messages());
    OneTimeTask<byte[]> task =
        Tasks.oneTime("handler", byte[].class)
            .execute((instance, context) -> calls.handled(instance.getId()));

    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(24)) {
      Scheduler scheduler = scheduler(pool, task);
      scheduler.start();
      try {
        run.begin();
        Load.run(
            run.messages(),
            PRODUCERS,
            BATCH,
            (from, to) -> schedule(scheduler, task, run, from, to));
        calls.awaitAll();
        tables.awaitNone("scheduled_tasks");
        run.end();
      } finally {
        scheduler.stop();
      }
      // Its table forgets what is done, so that the calls have to tell how many there were.
      return calls.once() - tables.count("scheduled_tasks");
    }
  }

  private static Scheduler scheduler(HikariDataSource pool, OneTimeTask<byte[]> task) {
    SchedulerBuilder builder =
        Scheduler.create(pool, task)
            .threads(THREADS)
            .pollingInterval(Duration.ofMillis(POLL_MILLIS))
            .pollUsingLockAndFetch(LOWER, UPPER)
            .serializer(new PlainBytes());
    return (IMMEDIATE ? builder.enableImmediateExecution() : builder).build();
  }

  private static void schedule(
      SchedulerClient client, OneTimeTask<byte[]> task, Run run, int from, int to) {
    if (BATCH == 1) {
      client.scheduleIfNotExists(task.instance(run.id(from), run.payload(from)), Instant.now());
      return;
    }
    List<TaskInstance<?>> batch = new ArrayList<>(to - from);
    for (int i = from; i < to; i++) {
      batch.add(task.instance(run.id(i), run.payload(i)));
    }
    client.scheduleBatch(batch, Instant.now());
  }
}
