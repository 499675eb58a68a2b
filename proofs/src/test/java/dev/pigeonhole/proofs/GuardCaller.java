package dev.pigeonhole.proofs;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * Calls a guard with one key after the other until it is killed, or until it was stopped and
 * resumed. What it is about to ask, what the body does and what it was answered is in the ledger
 * before it goes on. Arguments: JDBC address, user, password, ledger, number of this life.
 */
public final class GuardCaller {
  static final String READY = "READY";
  static final String CUT = "CUT";
  static final String IN_BODY = "test.guard.in-body";

  /** Nothing takes so long; it bounds how long a caller that is stopped holds its key. */
  private static final Duration TIME_LIMIT = Duration.ofSeconds(15);

  private static final Duration LONGEST = Duration.ofSeconds(100);

  private final Ledger ledger;
  private final String life;
  private String key = "";
  private boolean bodyIsDone;
  private int runs;

  GuardCaller(Ledger ledger, String life) {
    this.ledger = ledger;
    this.life = life;
  }

  public static void main(String[] args) {
    ParentWatch.install();
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    try (Ledger ledger = Ledger.open(Path.of(args[3]))) {
      GuardCaller caller = new GuardCaller(ledger, args[4]);
      if (StandStill.point().isEmpty()) {
        caller.callUntilDeath(database.dataSource());
        System.out.println("NOT REACHED");
      } else {
        caller.callUntilResumed(database.pool(2));
        Runtime.getRuntime().halt(0);
      }
    } catch (Throwable e) {
      e.printStackTrace();
    }
    Runtime.getRuntime().halt(1);
  }

  static Guard guard(DataSource database) {
    return Guard.on(JdbcStore.of(database)).timeLimit(TIME_LIMIT).keepReceiptsForEver().build();
  }

  static GuardKey key(String id) {
    return GuardKey.of("charge-card", "charge", id);
  }

  /** The effect that has to be there once: the receipt that the caller is answered. */
  static String charge(GuardTransaction tx, String id, String receipt) throws SQLException {
    try (PreparedStatement insert =
        tx.connection().prepareStatement("INSERT INTO charge (id, receipt) VALUES (?, ?)")) {
      insert.setString(1, id);
      insert.setString(2, receipt);
      insert.executeUpdate();
    }
    return receipt;
  }

  /** What the caller goes on with, whether it was run for him or for somebody before him. */
  static String answer(Guarded<String> result) {
    if (result instanceof Guarded.Ran<String> ran) {
      return String.valueOf(ran.value());
    }
    if (result instanceof Guarded.Repeat<String> repeat) {
      return repeat.answer().orElse("nothing");
    }
    throw new IllegalStateException(result.toString());
  }

  private void callUntilDeath(DataSource database) throws SQLException {
    long end = System.nanoTime() + LONGEST.toNanos();
    try (Guard guard = guard(standingStillAtASecondTry(database))) {
      call(guard, life + ".0");
      System.out.println(READY);
      for (int i = 1; System.nanoTime() - end < 0; i++) {
        call(guard, life + "." + i);
      }
    }
  }

  /** Once more after it was resumed: what it has lost must not be in its way. */
  private void callUntilResumed(DataSource database) throws SQLException {
    try (Guard guard = guard(database)) {
      boolean last = false;
      for (int i = 0; !last; i++) {
        last = StandStill.isOver();
        callAgainIfTooSlow(guard, life + "." + i);
      }
    }
  }

  /** A body that was stopped has exceeded its time limit; the guard does not run it again. */
  private void callAgainIfTooSlow(Guard guard, String id) throws SQLException {
    try {
      call(guard, id);
    } catch (InboxException e) {
      if (e.code() != ErrorCode.GUARD_TIME_LIMIT) {
        throw e;
      }
      call(guard, id);
    }
  }

  Guarded<String> call(Guard guard, String id) throws SQLException {
    key = id;
    ledger.append("CALL " + id);
    Guarded<String> result =
        guard.answer(
            key(id),
            String.class,
            tx -> {
              String receipt = charge(tx, id, id + "/" + life + "-" + ++runs);
              ledger.append("BODY " + id + " " + receipt);
              CrashPoints.reach(IN_BODY);
              bodyIsDone = true;
              return receipt;
            });
    bodyIsDone = false;
    if (!(result instanceof Guarded.Busy)) {
      ledger.append("ANSWER " + id + " " + answer(result));
    }
    return result;
  }

  /** Calls again with each key, all of which must be known. */
  static void callAgain(Guard guard, Ledger ledger, Set<String> keys) {
    for (String key : keys) {
      Guarded<String> again =
          guard.answer(
              key(key),
              String.class,
              tx -> {
                throw new AssertionError(key + " was run again");
              });
      ledger.append("ANSWER " + key + " " + answer(again));
    }
  }

  /**
   * A guard whose body has returned needs another connection only if it has lost the first one
   * while it was committing. It does not get one: it has to be killed there.
   */
  private DataSource standingStillAtASecondTry(DataSource database) {
    return (DataSource)
        Proxy.newProxyInstance(
            DataSource.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (self, method, args) -> {
              if (bodyIsDone && method.getName().equals("getConnection")) {
                ledger.append("CUT " + key);
                System.out.println(CUT);
                TimeUnit.DAYS.sleep(1);
              }
              try {
                return method.invoke(database, args);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
