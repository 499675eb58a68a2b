package dev.pigeonhole.proofs;

import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.support.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread of a child process waits at a crash point, so that the process can be stopped (SIGSTOP)
 * exactly there, however long the signal takes. It continues when a file exists, which the parent
 * creates before it resumes the process. Found by the service loader.
 */
public final class StandStill implements CrashPoints.Hook {
  private static final String POINT = "proofs.stop.point";
  private static final String VISIT = "proofs.stop.visit";
  private static final String END = "proofs.stop.end";
  private static final String REACHED = "REACHED ";

  private static volatile boolean over;

  private final String point = point();
  private final int visit = Integer.getInteger(VISIT, 1);
  private final Path end = Path.of(System.getProperty(END, ""));
  private final AtomicInteger visits = new AtomicInteger();

  /** The plan of a child process. Does nothing in a process without one. */
  public StandStill() {}

  // ---- in the parent

  /**
   * Plans that the child waits at this visit of the point until the file {@code end} exists.
   *
   * @param visit the first is 1
   */
  static JavaProcess.Builder at(String point, int visit, Path end, JavaProcess.Builder child) {
    return child
        .systemProperty(POINT, point)
        .systemProperty(VISIT, Integer.toString(visit))
        .systemProperty(END, end.toString());
  }

  /** Stops the child as soon as it has reached the point. */
  static void stop(JavaProcess child, Duration limit) {
    child.awaitLine(REACHED, limit);
    child.pause();
  }

  /** Lets the stopped child continue behind the point. */
  static void resume(JavaProcess child, Path end) throws IOException {
    Files.createFile(end);
    child.resume();
  }

  // ---- in the child

  /** The point at which this process is to wait; empty without a plan. */
  static String point() {
    return System.getProperty(POINT, "");
  }

  /** Whether this process has waited and was resumed. */
  static boolean isOver() {
    return over;
  }

  @Override
  public void reached(String name) {
    if (!name.equals(point) || visits.incrementAndGet() != visit) {
      return;
    }
    System.out.println(REACHED + point);
    while (Files.notExists(end)) {
      LockSupport.parkNanos(10_000_000);
    }
    over = true;
  }
}
