package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.PostgresServer;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A commit waits for a synchronous standby that does not answer, and the wait is cancelled:
 * PostgreSQL then reports success with a warning, although the standby may lack the transaction.
 */
@Timeout(600)
class SynchronousStandbyTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final ExecutorService callers = Executors.newCachedThreadPool();
  private PostgresServer primary;
  private FaultProxy link;
  private PostgresServer standby;
  private TestDatabase database;
  private Rig rig;

  @BeforeEach
  void start() {
    primary = PostgresServer.start();
    link = FaultProxy.to("127.0.0.1", primary.port());
    standby = primary.standby(link);
    database = primary.emptySchema();
    rig = Rig.on(database);
    database.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
    database.execute("SELECT pg_reload_conf()");
    Eventually.until(
        "the standby to be synchronous",
        PATIENCE,
        () ->
            database.count("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
                == 1);
  }

  @AfterEach
  void stop() {
    standby.close();
    link.close();
    primary.close(); // before the schema is dropped, whose commit would wait for the standby
    database.close();
    callers.shutdownNow();
  }

  @Test
  void dur04_anAcceptWhoseWaitIsCancelledIsNotAnsweredBeforeTheStandbyHasIt() throws Exception {
    standby.pause();
    Future<AcceptResult> accept = callers.submit(() -> rig.accept(rig.message("m", rig.a)));
    cancelOneWait();
    Eventually.until("the second try to wait", PATIENCE, () -> waits() == 1);
    assertThat(rig.count("message")).isEqualTo(1); // committed, and visible to everybody
    assertThat(accept).isNotDone();

    standby.resume();

    assertThat(accept.get()).isInstanceOf(AcceptResult.Stored.class);
    assertThat(rig.count("message")).isEqualTo(1);
    assertThat(rig.count("delivery")).isEqualTo(1);
  }

  @Test
  void dur04_anAcceptThatTheStandbyNeverConfirmsIsInDoubtAndLosesNothing() throws Exception {
    standby.pause();
    StoreException doubt = cancelledUntilItEnds(() -> rig.accept(rig.message("m", rig.a)));
    assertThat(doubt.kind()).isEqualTo(Kind.UNKNOWN);
    assertThat(doubt.code()).isEqualTo(ErrorCode.COMMIT_UNKNOWN);
    // A copy that another caller brings is not confirmed either.
    Future<AcceptResult> copy = callers.submit(() -> rig.accept(rig.message("m", rig.a)));
    Eventually.until("the copy to wait", PATIENCE, () -> waits() == 1);
    assertThat(copy).isNotDone();

    primary.crash();
    standby.resume();
    standby.promote();

    try (TestDatabase promoted = onStandby()) {
      Rig after = Rig.on(promoted, promoted.pool(4));
      after.accept(after.message("m", after.a));
      assertThat(after.count("message")).isEqualTo(1);
      assertThat(after.count("delivery")).isEqualTo(1);
    }
  }

  @Test
  void dur04_aSettleWhoseWaitIsCancelledIsInDoubt() throws Exception {
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);
    standby.pause();

    StoreException doubt = cancelledUntilItEnds(() -> rig.complete(List.of(delivery)));

    assertThat(doubt.kind()).isEqualTo(Kind.UNKNOWN);
    assertThat(doubt.code()).isEqualTo(ErrorCode.COMMIT_UNKNOWN);
  }

  private TestDatabase onStandby() {
    return TestDatabase.attach(
        standby.jdbcUrl() + "?currentSchema=" + database.schema(),
        standby.user(),
        standby.password());
  }

  /** Cancels each wait for the standby until the call gives up. */
  private StoreException cancelledUntilItEnds(Callable<?> call) throws Exception {
    Future<StoreException> ended =
        callers.submit(() -> catchThrowableOfType(StoreException.class, call::call));
    Eventually.until(
        "the call to give up",
        PATIENCE,
        () -> {
          cancelWaits();
          return ended.isDone();
        });
    assertThat(ended.get()).as("the call succeeded").isNotNull();
    return ended.get();
  }

  private void cancelOneWait() {
    Eventually.until("a wait for the standby", PATIENCE, () -> cancelWaits() > 0);
  }

  private long cancelWaits() {
    return database.count(
        """
        WITH waiting AS MATERIALIZED (SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep')
        SELECT count(*) FROM waiting WHERE pg_cancel_backend(pid)
        """);
  }

  private long waits() {
    return database.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  }
}
