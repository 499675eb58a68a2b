package dev.pigeonhole.proofs;

import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * Calls a guard with one key after the other until it is killed. What it is about to ask, what the
 * body does and what it was answered is in the ledger before it goes on. Arguments: JDBC address,
 * user, password, ledger, number of this life.
 */
public final class GuardCaller {
  static final String READY = "READY";
  static final String CUT = "CUT";

  private static final Duration LONGEST = Duration.ofSeconds(100);

  private final Ledger ledger;
  private final String life;
  private String key = "";
  private boolean bodyIsDone;
  private int runs;

  private GuardCaller(Ledger ledger, String life) {
    this.ledger = ledger;
    this.life = life;
  }

  public static void main(String[] args) {
    ParentWatch.install();
    DataSource database = TestDatabase.attach(args[0], args[1], args[2]).dataSource();
    try (Ledger ledger = Ledger.open(Path.of(args[3]))) {
      new GuardCaller(ledger, args[4]).callUntilDeath(database);
      System.out.println("NOT REACHED");
    } catch (Throwable e) {
      e.printStackTrace();
    }
    Runtime.getRuntime().halt(1);
  }

  static Guard guard(DataSource database) {
    return Guard.on(JdbcStore.of(database)).keepReceiptsForEver().build();
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

  private void call(Guard guard, String id) throws SQLException {
    key = id;
    ledger.append("CALL " + id);
    Guarded<String> result =
        guard.answer(
            key(id),
            String.class,
            tx -> {
              String receipt = charge(tx, id, id + "/" + ++runs);
              ledger.append("BODY " + id + " " + receipt);
              bodyIsDone = true;
              return receipt;
            });
    bodyIsDone = false;
    ledger.append("ANSWER " + id + " " + answer(result));
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
