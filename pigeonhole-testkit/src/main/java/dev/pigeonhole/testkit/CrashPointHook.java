package dev.pigeonhole.testkit;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Carries out what {@link CrashPlan} planned. Found by the service loader; costs one look into an
 * empty map while nothing is planned.
 */
public final class CrashPointHook implements CrashPoints.Hook {
  static final String PROPERTY = "pigeonhole.crash";

  private static final Map<String, Point> POINTS = new ConcurrentHashMap<>();

  /** Reads the plans of a child process. */
  public CrashPointHook() {
    String plans = System.getProperty(PROPERTY, "");
    if (!plans.isBlank()) {
      plan(plans);
    }
  }

  @Override
  public void reached(String name) {
    if (POINTS.isEmpty()) {
      return;
    }
    Point point = POINTS.get(name);
    if (point != null) {
      point.reached();
    }
  }

  static void add(String name, long first, long last, Runnable action) {
    POINTS.computeIfAbsent(name, key -> new Point()).add(first, last, action);
  }

  static void clear() {
    POINTS.clear();
  }

  static long hits(String name) {
    Point point = POINTS.get(name);
    return point == null ? 0 : point.hits.get();
  }

  /** Sets plans written as {@code point:action[:nth[:millis]]}, separated by commas. */
  static void plan(String plans) {
    for (String plan : plans.split(",")) {
      try {
        planOne(plan.strip().split(":"));
      } catch (RuntimeException e) {
        throw new IllegalArgumentException(
            "Cannot read '%s' in -D%s=%s; expected point:halt|throw|delay[:nth[:millis]]"
                .formatted(plan, PROPERTY, plans),
            e);
      }
    }
  }

  private static void planOne(String[] fields) {
    CrashPlan plan = CrashPlan.at(fields[0]);
    if (fields.length > 2) {
      plan.onHit(Integer.parseInt(fields[2]));
    }
    switch (fields[1]) {
      case "halt" -> plan.halt();
      case "throw" -> plan.throwing(() -> planned(fields[0]));
      case "delay" -> plan.delay(Duration.ofMillis(Long.parseLong(fields[3])));
      default -> throw new IllegalArgumentException("Unknown action: " + fields[1]);
    }
  }

  private static StoreException planned(String point) {
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        ErrorCode.DATABASE_TRANSIENT,
        "Planned by the test at crash point " + point,
        null);
  }

  /** Waits at least this long unless interrupted, and leaves the interrupt as it is. */
  static void pause(Duration delay) {
    long until = System.nanoTime() + delay.toNanos();
    for (long left = delay.toNanos(); left > 0; left = until - System.nanoTime()) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      LockSupport.parkNanos(left);
    }
  }

  /** One point: how often it was reached, and what happens at which visit. */
  private static final class Point {
    private final AtomicLong hits = new AtomicLong();
    private final List<Step> steps = new CopyOnWriteArrayList<>();

    void add(long first, long last, Runnable action) {
      long now = hits.get();
      long until = last == Long.MAX_VALUE ? last : now + last;
      steps.add(new Step(now + first, until, action));
    }

    void reached() {
      long hit = hits.incrementAndGet();
      for (Step step : steps) {
        if (step.first <= hit && hit <= step.last) {
          step.action.run();
        }
      }
    }
  }

  private record Step(long first, long last, Runnable action) {}
}
