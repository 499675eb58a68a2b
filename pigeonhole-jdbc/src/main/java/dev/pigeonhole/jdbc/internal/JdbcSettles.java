package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Settles lists of deliveries, and lets no row that another transaction holds delay the others.
 *
 * <p>The first try takes every row to be free, because nearly always they are: then a list costs
 * what it must. If it meets a lock for longer than a moment it is undone, and the rows that are
 * free are locked first and settled alone. For handlers that met a lock lately, that is the first
 * try; deliveries of other handlers in the same list are settled before them, in their own commit.
 */
final class JdbcSettles {

  /** Longer than the engine waits between two tries of a row that was locked. */
  private static final Duration CAREFUL = Duration.ofSeconds(3);

  private final Jdbc jdbc;
  private final Statements statements;
  private final Settling settling;

  /** Family → when a row of it was last found locked. */
  private final Map<Integer, Long> lockMet = new ConcurrentHashMap<>();

  JdbcSettles(Jdbc jdbc, Statements statements, Settling settling) {
    this.jdbc = jdbc;
    this.statements = statements;
    this.settling = settling;
  }

  SettleResult settle(List<Settlement> settlements) {
    if (settlements.isEmpty()) {
      return SettleResult.allRecorded();
    }
    CrashPoints.reach("settle.before");
    SettleResult result = lockMet.isEmpty() ? settleAll(settlements) : settleApart(settlements);
    CrashPoints.reach("settle.after-commit");
    return result;
  }

  private SettleResult settleApart(List<Settlement> settlements) {
    long now = System.nanoTime();
    lockMet.values().removeIf(met -> now - met >= CAREFUL.toNanos());
    List<Settlement> careful = new ArrayList<>();
    List<Settlement> others = new ArrayList<>();
    settlements.forEach(each -> (isCareful(each) ? careful : others).add(each));
    if (careful.isEmpty() || others.isEmpty()) {
      return careful.isEmpty() ? settleAll(others) : settleFree(careful);
    }
    SettleResult first = settleAll(others);
    try {
      return both(first, settleFree(careful));
    } catch (StoreException e) {
      throw anyRecorded(others, first.refused(), first.locked()) ? someRecorded(e) : e;
    }
  }

  private boolean isCareful(Settlement settlement) {
    return lockMet.containsKey(settlement.delivery().cell().handler());
  }

  private static SettleResult both(SettleResult one, SettleResult other) {
    Set<Delivery> refused = new LinkedHashSet<>(one.refused());
    refused.addAll(other.refused());
    Set<Delivery> locked = new LinkedHashSet<>(one.locked());
    locked.addAll(other.locked());
    return new SettleResult(refused, locked);
  }

  private void beCareful(Collection<Delivery> deliveries) {
    long now = System.nanoTime();
    deliveries.forEach(each -> lockMet.put(each.cell().handler(), now));
  }

  private SettleResult settleAll(List<Settlement> settlements) {
    List<Delivery> all = deliveries(settlements);
    try {
      Set<Delivery> done =
          settlements.stream().allMatch(each -> each.outcome() instanceof Outcome.Completed)
              ? complete(all)
              : record(settlements);
      return done.size() == all.size()
          ? SettleResult.allRecorded()
          : SettleResult.refusing(without(all, done));
    } catch (StoreException e) {
      if (jdbc.fault(e) != Fault.LOCK_TIMEOUT) {
        throw e;
      }
      SettleResult result = settleFree(settlements);
      if (result.locked().isEmpty()) {
        beCareful(all); // the lock was on another row, and no error says which
      }
      return result;
    }
  }

  private Set<Delivery> complete(List<Delivery> all) {
    boolean oneTable = all.stream().map(Delivery::late).distinct().count() == 1;
    if (statements.completesInOneStatement() && oneTable) {
      return Jdbc.retrying(
          () ->
              jdbc.write(
                  LockWait.MOMENT,
                  session -> {
                    CrashPoints.reach("settle.before-commit");
                    return statements.complete(session, all);
                  }));
    }
    return jdbc.transaction(
        LockWait.MOMENT,
        session -> {
          Set<Delivery> done = statements.complete(session, all);
          CrashPoints.reach("settle.before-commit");
          return done;
        });
  }

  private Set<Delivery> record(List<Settlement> settlements) {
    return jdbc.transaction(
        LockWait.MOMENT,
        session -> {
          Set<Delivery> done = settling.settle(session, settlements);
          reachBeforeCommit(settlements);
          return done;
        });
  }

  /** Settles what can be locked at once, in one commit as far as that goes. */
  private SettleResult settleFree(List<Settlement> settlements) {
    Set<Delivery> refused = new LinkedHashSet<>();
    Set<Delivery> locked = new LinkedHashSet<>();
    List<Settlement> alone = new ArrayList<>();
    List<Settlement> together = new ArrayList<>();
    settlements.forEach(each -> (meetsOtherRows(each) ? alone : together).add(each));
    boolean any = false;
    if (settleFree(together, refused, locked)) {
      any = anyRecorded(together, refused, locked);
    } else {
      alone.addAll(together); // a receipt is locked, and no error says whose
    }
    for (Settlement each : alone) {
      try {
        if (!settleFree(List.of(each), refused, locked)) {
          locked.add(each.delivery());
        }
        any |= anyRecorded(List.of(each), refused, locked);
      } catch (StoreException e) {
        // If nothing was recorded, the result is certain. Reporting doubt each time would never
        // end.
        throw any ? someRecorded(e) : e;
      }
    }
    beCareful(locked);
    return new SettleResult(refused, locked);
  }

  private static StoreException someRecorded(StoreException e) {
    return Errors.unknown("Some of these settlements may be recorded", e);
  }

  private static boolean anyRecorded(
      List<Settlement> settled, Set<Delivery> refused, Set<Delivery> locked) {
    return settled.stream()
        .map(Settlement::delivery)
        .anyMatch(each -> !refused.contains(each) && !locked.contains(each));
  }

  /** Other rows of the ordering key, which may be locked while the own one is free. */
  private static boolean meetsOtherRows(Settlement settlement) {
    return settlement.delivery().keyHash() != null
        && (settlement.outcome() instanceof Outcome.Blocked
            || settlement.outcome() instanceof Outcome.Poisoned);
  }

  /** False if nothing was done because of a lock on something else than the rows themselves. */
  private boolean settleFree(
      List<Settlement> settlements, Set<Delivery> refused, Set<Delivery> locked) {
    if (settlements.isEmpty()) {
      return true;
    }
    try {
      SettleResult result =
          jdbc.transaction(LockWait.MOMENT, session -> settleFree(session, settlements));
      refused.addAll(result.refused());
      locked.addAll(result.locked());
      return true;
    } catch (StoreException e) {
      if (jdbc.fault(e) != Fault.LOCK_TIMEOUT) {
        throw e;
      }
      return false;
    }
  }

  private SettleResult settleFree(Session session, List<Settlement> settlements)
      throws SQLException {
    List<Delivery> all = deliveries(settlements);
    Set<Delivery> free = statements.lock(session, all, true);
    List<Settlement> now =
        settlements.stream().filter(each -> free.contains(each.delivery())).toList();
    settling.settleLocked(session, now);
    reachBeforeCommit(now);
    if (free.size() == all.size()) {
      return SettleResult.allRecorded();
    }
    // In this order: what is still there was locked a moment ago, what is not is gone for good.
    Set<Delivery> missing = without(all, free);
    Set<Delivery> locked = statements.there(session, List.copyOf(missing));
    missing.removeAll(locked);
    return new SettleResult(missing, locked);
  }

  private static List<Delivery> deliveries(List<Settlement> settlements) {
    return settlements.stream().map(Settlement::delivery).toList();
  }

  private static Set<Delivery> without(List<Delivery> all, Set<Delivery> some) {
    Set<Delivery> rest = new LinkedHashSet<>(all);
    rest.removeAll(some);
    return rest;
  }

  private static void reachBeforeCommit(List<Settlement> settlements) {
    if (settlements.stream().anyMatch(each -> each.outcome() instanceof Outcome.RetryAfter)) {
      CrashPoints.reach("failure.before-commit");
    }
    if (settlements.stream().anyMatch(each -> each.outcome() instanceof Outcome.Poisoned)) {
      CrashPoints.reach("poison.before-commit");
    }
    CrashPoints.reach("settle.before-commit");
  }
}
