package dev.pigeonhole.proofs;

import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.support.JavaProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
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
  private static final int ANY = 0;
  private static final int LOOKS = 3;

  /** MariaDB shows transactions as they were at the last look, if that is less than 100 ms ago. */
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(150);

  private static volatile boolean over;

  private final String point = point();
  private final int visit = Integer.getInteger(VISIT, 1);
  private final Path end = Path.of(System.getProperty(END, ""));
  private final AtomicInteger visits = new AtomicInteger();
  private final AtomicBoolean waiting = new AtomicBoolean();

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

  /**
   * Plans that the child waits at each visit of the point, until {@link #stopInTransaction} has
   * chosen one.
   */
  static JavaProcess.Builder atAny(String point, Path end, JavaProcess.Builder child) {
    return at(point, ANY, end, child);
  }

  /** Stops the child as soon as it has reached the point, and returns when that was. */
  static Instant stop(JavaProcess child, Duration limit) {
    String line = child.awaitLine(each -> each.startsWith(REACHED), limit);
    child.pause();
    return Instant.ofEpochMilli(Long.parseLong(line.split(" ")[3]));
  }

  /**
   * Stops the child at the first visit at which it holds locks, and lets it pass the point before.
   * A point may lie on several paths, and only some of them are in a transaction.
   *
   * @return the transactions that it left open
   */
  static Set<String> stopInTransaction(
      JavaProcess child, Path end, OwnLogin login, Duration limit) {
    int visit = 0;
    while (true) {
      int last = visit;
      String line = child.awaitLine(each -> visit(each) > last, limit);
      visit = visit(line);
      Set<String> open = look(login);
      for (int look = 1; look < LOOKS && !open.isEmpty(); look++) {
        open.retainAll(look(login)); // other threads have ended theirs meanwhile
      }
      if (!open.isEmpty()) {
        child.pause();
        open.retainAll(look(login));
        if (!open.isEmpty()) {
          return Set.copyOf(open);
        }
        child.resume();
      }
      try {
        Files.createFile(pass(end, visit));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static Set<String> look(OwnLogin login) {
    LockSupport.parkNanos(BETWEEN_LOOKS.toNanos());
    return new HashSet<>(login.idleWithLocks());
  }

  private static int visit(String line) {
    return line.startsWith(REACHED) ? Integer.parseInt(line.split(" ")[2]) : 0;
  }

  /** The file that lets the child pass one visit. */
  private static Path pass(Path end, int visit) {
    return end.resolveSibling(end.getFileName() + "-" + visit);
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
    if (!name.equals(point)) {
      return;
    }
    int present = visits.incrementAndGet();
    if (visit == ANY ? over || !waiting.compareAndSet(false, true) : present != visit) {
      return;
    }
    System.out.println(REACHED + point + " " + present + " " + System.currentTimeMillis());
    Path passed = pass(end, present);
    while (Files.notExists(end) && Files.notExists(passed)) {
      LockSupport.parkNanos(10_000_000);
    }
    over = Files.exists(end);
    waiting.set(false);
  }
}
