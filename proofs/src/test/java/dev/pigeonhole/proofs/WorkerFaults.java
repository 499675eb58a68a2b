package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseServer;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** What can go wrong behind a source, whatever broker it receives from. */
final class WorkerFaults {
  private static final int LATEST_VISIT = 10;

  private final SourceFleet fleet;
  private final DatabaseServer server;
  private final String complaint;
  private final Duration outage;
  private final Random random;

  /**
   * @param complaint what a source says while the store is down
   */
  WorkerFaults(
      SourceFleet fleet, DatabaseServer server, String complaint, Duration outage, Random random) {
    this.fleet = fleet;
    this.server = server;
    this.complaint = complaint;
    this.outage = outage;
    this.random = random;
  }

  List<SourceFault> all() {
    return List.of(
        killed("killed before the commit", "accept.before-commit"),
        killed("killed before the acknowledgement", "accept.after-commit"),
        killed("killed after the acknowledgement", ObservedSource.ACKNOWLEDGED),
        new SourceFault("killed anywhere", () -> fleet.killAny(random)),
        new SourceFault("database down", this::takeDatabaseAway));
  }

  private SourceFault killed(String name, String point) {
    return new SourceFault(name, () -> fleet.sacrifice(point, 1 + random.nextInt(LATEST_VISIT)));
  }

  private void takeDatabaseAway() throws InterruptedException {
    long before = fleet.said(complaint);
    server.crash();
    long began = System.nanoTime();
    fleet.awaitMore(complaint, before);
    TimeUnit.NANOSECONDS.sleep(outage.toNanos() - (System.nanoTime() - began));
    server.restart();
  }
}
