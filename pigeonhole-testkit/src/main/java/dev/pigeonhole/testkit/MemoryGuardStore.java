package dev.pigeonhole.testkit;

import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Leases and receipts that are gone with their process: the whole contract of {@link GuardStore}
 * under one lock, for tests. Several guards may share one to play the nodes of a cluster.
 */
public final class MemoryGuardStore implements GuardStore {

  /**
   * @param until when it is gone; null for never
   * @param receipt null while somebody is at work
   */
  private record Row(String token, @Nullable Instant until, Claim.@Nullable Completed receipt) {}

  private final Map<String, Row> rows = new HashMap<>();
  private InstantSource clock = InstantSource.system();

  private MemoryGuardStore() {}

  /** An empty store on the clock of the system. */
  public static MemoryGuardStore create() {
    return new MemoryGuardStore();
  }

  /** Takes every time from this clock from now on; leases and receipts run out by it alone. */
  public synchronized MemoryGuardStore clock(InstantSource clock) {
    this.clock = clock;
    return this;
  }

  @Override
  public synchronized Claim claim(String name, String token, Duration lease) {
    Row row = present(name);
    if (row != null && row.receipt() != null) {
      return row.receipt();
    }
    if (row != null && !row.token().equals(token)) {
      return new Claim.Held(left(row));
    }
    lease(name, token, lease);
    return new Claim.Won();
  }

  @Override
  public synchronized boolean renew(String name, String token, Duration lease) {
    Row row = present(name);
    if (row != null && (row.receipt() != null || !row.token().equals(token))) {
      return false;
    }
    lease(name, token, lease);
    return true;
  }

  @Override
  public synchronized boolean complete(
      String name, String token, Completion completion, @Nullable Duration keep) {
    Row row = present(name);
    if (row != null && !row.token().equals(token)) {
      return false;
    }
    if (row == null || row.receipt() == null) {
      Instant now = clock.instant();
      Claim.Completed receipt = new Claim.Completed(now, completion);
      rows.put(name, new Row(token, keep == null ? null : now.plus(keep), receipt));
    }
    return true;
  }

  @Override
  public synchronized boolean release(String name, String token) {
    Row row = present(name);
    if (row == null || row.receipt() != null || !row.token().equals(token)) {
      return false;
    }
    rows.remove(name);
    return true;
  }

  @Override
  public boolean forgets() {
    return true;
  }

  private void lease(String name, String token, Duration lease) {
    rows.put(name, new Row(token, clock.instant().plus(lease), null));
  }

  /** What there is of the name; its time may just have run out. */
  private @Nullable Row present(String name) {
    Row row = rows.get(name);
    if (row == null || row.until() == null || clock.instant().isBefore(row.until())) {
      return row;
    }
    rows.remove(name);
    return null;
  }

  private Duration left(Row row) {
    return row.until() == null ? Duration.ZERO : Duration.between(clock.instant(), row.until());
  }
}
