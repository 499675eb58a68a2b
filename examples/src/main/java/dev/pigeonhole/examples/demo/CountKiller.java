package dev.pigeonhole.examples.demo;

import dev.pigeonhole.support.JavaProcess;
import java.sql.SQLException;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.function.ToLongFunction;

/**
 * Kills a random process of a fleet whenever a table has as many rows as the plan says: staging is
 * quick, so how much was sent would not tell how far the others are. It aims at one that has begun:
 * what is still starting has nothing in its hands.
 */
final class CountKiller implements Kills {

  private static final Duration LOOK = Duration.ofMillis(20);
  private static final Duration START_LIMIT = Duration.ofMinutes(2);

  private final int[] moments;
  private final ToLongFunction<TransitTables> count;
  private final Fleet fleet;
  private final Database database;
  private final SplittableRandom dice;
  private volatile int kills;

  /**
   * @param moments the counts at which to kill, ascending
   */
  CountKiller(
      int[] moments,
      ToLongFunction<TransitTables> count,
      Fleet fleet,
      Database database,
      SplittableRandom dice) {
    this.moments = moments;
    this.count = count;
    this.fleet = fleet;
    this.database = database;
    this.dice = dice;
  }

  @Override
  public void start() {
    Thread thread = new Thread(this::run, "killer");
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try (TransitTables tables = new TransitTables(database.connect())) {
      for (int i = 0; i < moments.length; i++) {
        JavaProcess victim = fleet.pick(dice);
        victim.awaitLine(Fleet.READY, START_LIMIT);
        while (count.applyAsLong(tables) < moments[i]) {
          Thread.sleep(LOOK.toMillis());
        }
        fleet.kill(victim);
        kills = i + 1;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (SQLException e) {
      throw new IllegalStateException("The killer cannot look", e);
    }
  }

  @Override
  public int kills() {
    return kills;
  }

  @Override
  public boolean finished() {
    return kills == moments.length;
  }
}
