package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** How much is tried: a tenth in the daily run, everything in a full one. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size", "small")) ? full : small;
  }

  /**
   * This one of PostgreSQL and MariaDB in the daily run; both in a full one and on broken builds.
   */
  static List<DatabaseKind> databases(DatabaseKind daily) {
    return of(0, 1) == 0 && !isBroken()
        ? List.of(daily)
        : List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB);
  }

  /**
   * Whether a build was broken on purpose, so that every place where it can fail has to be tried.
   */
  static boolean isBroken() {
    return Boolean.getBoolean("pigeonhole.teeth");
  }

  /**
   * How long to wait for work to end: not for ever on a build that was broken so that it never
   * does.
   */
  static Duration patience() {
    return isBroken() ? Duration.ofSeconds(30) : Duration.ofMinutes(of(10, 45));
  }

  /** One of them in the daily run, drawn at random; all in a full one and on broken builds. */
  static <T> List<T> draw(List<T> all, Random random) {
    List<T> drawn = new ArrayList<>(all);
    Collections.shuffle(drawn, random);
    return isBroken() ? drawn : drawn.subList(0, of(1, all.size()));
  }

  /** A seed that is printed; {@code -Dpigeonhole.seed=…} sets it. */
  static long seed(String what) {
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println(what + ": -Dpigeonhole.seed=" + seed);
    return seed;
  }
}
