package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Guarded;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.RedisServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** An owner of a lease that dies or stands still, in a process of its own. */
class LeaseCrashTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private RedisServer server;
  private RedisClient jedis;
  private LeaseGuard guard;

  @BeforeEach
  void start() {
    server = RedisServer.start();
    jedis = LeaseWorker.client(server.port());
    guard = LeaseWorker.guard(jedis);
  }

  @AfterEach
  void stop() {
    jedis.close();
    server.close();
  }

  @Test
  void t12_anOwnerThatIsKilledIsReplacedWhenItsLeaseHasRunOut() throws InterruptedException {
    for (int kill = 0; kill < Size.of(1, 20); kill++) {
      String id = "killed-" + kill;
      try (JavaProcess worker = worker(id)) {
        worker.awaitLine("RUNNING", PATIENCE);
        // Longer than the lease: the living owner renews it.
        TimeUnit.MILLISECONDS.sleep(LeaseWorker.LEASE.toMillis() * 3 / 2);
        awaitRenewal(id);
        assertThat(run(id, Duration.ZERO)).isInstanceOf(Guarded.Busy.class);
        worker.kill9();
      }

      assertThat(run(id, PATIENCE)).isEqualTo(new Guarded.Ran<>("taken over"));

      assertThat(run(id, Duration.ZERO)).isInstanceOf(Guarded.Repeat.class);
      assertThat(jedis.get(LeaseWorker.effects(id)))
          .as("the cut run, and the new one")
          .isEqualTo("2");
    }
  }

  @Test
  void anOwnerThatStoodStillLearnsThatItWasReplaced() {
    try (JavaProcess worker = worker("paused")) {
      worker.awaitLine("RUNNING", PATIENCE);
      worker.pause();

      assertThat(run("paused", PATIENCE)).isEqualTo(new Guarded.Ran<>("taken over"));

      jedis.set(LeaseWorker.end("paused"), "now");
      worker.resume();
      assertThat(worker.awaitLine("ENDED", PATIENCE)).isEqualTo("ENDED PH-GRD-10");
    }
    assertThat(run("paused", Duration.ZERO)).isInstanceOf(Guarded.Repeat.class);
    assertThat(jedis.get(LeaseWorker.effects("paused"))).isEqualTo("2");
  }

  @Test
  void anOwnerThatIsLeftAloneEndsWell() {
    try (JavaProcess worker = worker("alone")) {
      worker.awaitLine("RUNNING", PATIENCE);
      jedis.set(LeaseWorker.end("alone"), "now");

      assertThat(worker.awaitLine("ENDED", PATIENCE)).isEqualTo("ENDED well");
    }
    assertThat(run("alone", Duration.ZERO)).isInstanceOf(Guarded.Repeat.class);
    assertThat(jedis.get(LeaseWorker.effects("alone"))).isEqualTo("1");
  }

  /** Returns when most of a lease lies ahead, so that a slow machine does not outlive it. */
  private void awaitRenewal(String id) {
    long fresh = LeaseWorker.LEASE.toMillis() * 9 / 10;
    Eventually.until(
        "a renewal",
        PATIENCE,
        () -> jedis.keys("*/" + id).stream().anyMatch(name -> jedis.pttl(name) > fresh));
  }

  private Guarded<String> run(String id, Duration patience) {
    return guard
        .waitAtMost(patience)
        .run(
            LeaseWorker.key(id),
            lease -> {
              jedis.incr(LeaseWorker.effects(id));
              return "taken over";
            });
  }

  private JavaProcess worker(String id) {
    return JavaProcess.of(LeaseWorker.class).heap("64m").args(server.port(), id).start();
  }
}
