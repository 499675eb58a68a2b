package dev.pigeonhole.benchmarks.peers.jobrunr;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.jobrunr.server.BackgroundJobServerConfiguration.usingStandardBackgroundJobServerConfiguration;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.time.Duration;
import java.util.Set;
import java.util.stream.IntStream;
import org.jobrunr.configuration.JobRunr;
import org.jobrunr.configuration.JobRunrConfiguration.JobRunrConfigurationResult;
import org.jobrunr.scheduling.JobScheduler;
import org.jobrunr.storage.sql.common.SqlStorageProviderFactory;

/** A message is a job whose id is made of the id of the message. */
public final class JobRunrSubject implements Subject {

  private static final int WORKERS = Setting.number("workers", 512);
  private static final int PRODUCERS = Setting.number("producers", 2);

  // Of 1: each job is created alone, and a repeat is passed over in silence.
  private static final int BATCH = Setting.number("batch", 500);

  // It refuses to poll an SQL database more often.
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(5);

  @Override
  public String dedup() {
    String meaning =
        BATCH == 1
            ? "create passes over a job whose id is there"
            : "a job whose id is there makes create(Stream) refuse its whole batch";
    return meaning + "; the row stays as the marker until JobRunr deletes the job after 36 hours.";
  }

  @Override
  public String effects() {
    return "at least once: the job and its completion are apart";
  }

  @Override
  public String settings() {
    return ("JobRunr 8.7.0, %d workers, poll interval %d s (the shortest it takes; it asks again at"
            + " once while there is work, and is kept busy until the first batch is stored, so that"
            + " it does not begin with a pause), %d producers, create of %d, pool 24")
        .formatted(WORKERS, POLL_INTERVAL.toSeconds(), PRODUCERS, BATCH);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  @Override
  public void prepare(Run run) {
    try (HikariDataSource pool = run.pool(4)) {
      SqlStorageProviderFactory.using(pool).close();
    }
  }

  @Override
  public long work(Run run) throws Exception {
    Calls calls = new Calls(run.messages());
    Job.countIn(calls);
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(24)) {
      JobRunrConfigurationResult jobRunr = jobRunr(pool);
      JobScheduler scheduler = jobRunr.getJobScheduler();
      try {
        jobRunr.getBackgroundJobServer().start();
        Primer.occupyWorker(scheduler);
        run.begin();
        Load.run(
            run.messages(),
            PRODUCERS,
            BATCH,
            (from, to) -> {
              create(scheduler, run, from, to);
              if (from == 0) {
                Primer.release();
              }
            });
        calls.awaitAll();
        tables.awaitNone("jobrunr_jobs WHERE state <> 'SUCCEEDED'");
        run.end();
      } finally {
        JobRunr.destroy();
      }
      // One of them was the primer.
      return Math.min(tables.count("jobrunr_jobs WHERE state = 'SUCCEEDED'") - 1, calls.once());
    }
  }

  private static JobRunrConfigurationResult jobRunr(HikariDataSource pool) {
    return JobRunr.configure()
        .useStorageProvider(SqlStorageProviderFactory.using(pool))
        .useBackgroundJobServer(
            usingStandardBackgroundJobServerConfiguration()
                .andPollInterval(POLL_INTERVAL)
                .andWorkerCount(WORKERS),
            false)
        .initialize();
  }

  private static void create(JobScheduler scheduler, Run run, int from, int to) {
    if (BATCH == 1) {
      scheduler.create(Job.of(run.id(from), payload(run, from)));
      return;
    }
    scheduler.create(IntStream.range(from, to).mapToObj(i -> Job.of(run.id(i), payload(run, i))));
  }

  private static String payload(Run run, int message) {
    return new String(run.payload(message), ISO_8859_1);
  }
}
