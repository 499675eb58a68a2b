package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** How much a proof tries: a part of it at small size, everything at full size. */
final class Size {
  private Size() {}

  static int of(int small, int full) {
    return "full".equals(System.getProperty("pigeonhole.size", "small")) ? full : small;
  }

  /**
   * Returns this database at small size; PostgreSQL and MariaDB at full size and on broken builds.
   */
  static List<DatabaseKind> databases(DatabaseKind small) {
    return of(0, 1) == 0 && !isBroken()
        ? List.of(small)
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

  /** Draws one of them at small size; returns all of them at full size and on broken builds. */
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
