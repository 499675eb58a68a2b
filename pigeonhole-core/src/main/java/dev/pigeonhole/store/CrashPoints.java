package dev.pigeonhole.store;

import java.util.ServiceLoader;

/**
 * For authors of stores: named places beside every write, so that tests can kill, fail or delay a
 * process exactly there. Nothing happens unless a {@link Hook} is on the class path; only the test
 * kit brings one. Applications have no use for it: their tests say what happens at which point with
 * {@code CrashPlan} of the test kit.
 */
public final class CrashPoints {

  /** What to do when a point is reached. */
  public interface Hook {
    void reached(String point);
  }

  private static final Hook[] HOOKS =
      ServiceLoader.load(Hook.class).stream().map(ServiceLoader.Provider::get).toArray(Hook[]::new);

  private CrashPoints() {}

  /** Says that the point was reached. Free without the test kit: the array is empty. */
  public static void reach(String point) {
    for (Hook hook : HOOKS) {
      hook.reached(point);
    }
  }
}
