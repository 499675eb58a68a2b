package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CrashPlanTest {
  private static final String POINT = "test.point";

  @AfterEach
  void forget() {
    CrashPlan.clear();
  }

  @Test
  void withoutAPlanNothingHappensAndNothingIsCounted() {
    CrashPoints.reach(POINT);

    assertThat(CrashPlan.hits(POINT)).isZero();
  }

  @Test
  void onlyTheChosenVisitFails() {
    CrashPlan.at(POINT).onHit(2).throwing(() -> new IllegalStateException("cut"));

    CrashPoints.reach(POINT);
    assertThatThrownBy(() -> CrashPoints.reach(POINT)).hasMessage("cut");
    CrashPoints.reach(POINT);

    assertThat(CrashPlan.hits(POINT)).isEqualTo(3);
  }

  @Test
  void otherPointsAreLeftAlone() {
    CrashPlan.at(POINT).throwing(() -> new IllegalStateException("cut"));

    CrashPoints.reach("test.other");

    assertThat(CrashPlan.hits(POINT)).isZero();
  }

  @Test
  void aSecondPlanCountsFromItsOwnStart() {
    CrashPlan.at(POINT).counting();
    CrashPoints.reach(POINT);
    CrashPlan.at(POINT).throwing(() -> new IllegalStateException("second"));

    assertThatThrownBy(() -> CrashPoints.reach(POINT)).hasMessage("second");
    CrashPoints.reach(POINT);
  }

  @Test
  void everyVisitCanFail() {
    CrashPlan.at(POINT).onEveryHit().throwing(() -> new IllegalStateException("cut"));

    assertThatThrownBy(() -> CrashPoints.reach(POINT)).hasMessage("cut");
    assertThatThrownBy(() -> CrashPoints.reach(POINT)).hasMessage("cut");
  }

  @Test
  void clearingForgetsPlansAndCounts() {
    CrashPlan.at(POINT).onEveryHit().throwing(() -> new IllegalStateException("cut"));
    CrashPlan.clear();

    CrashPoints.reach(POINT);

    assertThat(CrashPlan.hits(POINT)).isZero();
  }

  @Test
  void aLatchHoldsAThreadUntilItIsReleased() {
    Latch latch = new Latch();
    CrashPlan.at(POINT).blocking(latch);

    CompletableFuture<Void> held = CompletableFuture.runAsync(() -> CrashPoints.reach(POINT));
    latch.awaitReached();
    assertThat(held).isNotDone();
    latch.release();

    held.join();
  }

  @Test
  void anInterruptedThreadDoesNotWaitForALatch() throws InterruptedException {
    Latch latch = new Latch();
    CrashPlan.at(POINT).blocking(latch);
    Thread held = new Thread(() -> CrashPoints.reach(POINT));
    held.start();
    latch.awaitReached();

    held.interrupt();
    held.join(Duration.ofMinutes(1).toMillis()); // the latch would hold it for longer

    assertThat(held.isAlive()).isFalse();
  }

  @Test
  void aDelayLastsAtLeastThatLong() {
    CrashPlan.at(POINT).delay(Duration.ofMillis(20));

    long start = System.nanoTime();
    CrashPoints.reach(POINT);

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(ofMillis(20));
  }

  private static Duration ofMillis(long millis) {
    return Duration.ofMillis(millis);
  }

  @Test
  void plansOfAPropertyThrowAsATransientFaultOfTheStore() {
    CrashPointHook.plan(POINT + ":throw:2, test.other:delay:1:1");

    CrashPoints.reach(POINT);
    assertThatThrownBy(() -> CrashPoints.reach(POINT))
        .isInstanceOfSatisfying(
            StoreException.class,
            e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT))
        .hasMessageContaining(POINT);
  }

  @Test
  void aPropertyThatCannotBeReadIsRefusedWithItsText() {
    for (String plan :
        List.of("test.p", "test.p:explode", "test.p:halt:0", "test.p:delay", "test.p:halt:x")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> CrashPointHook.plan(plan))
          .withMessageContaining("'" + plan + "'")
          .withMessageContaining("pigeonhole.crash");
    }
  }

  @Test
  void aPointThatDoesNotExistIsRefused() {
    for (ThrowingCallable slip :
        List.<ThrowingCallable>of(
            () -> CrashPlan.at("settle.before-comit"),
            () -> CrashPlan.hits("settle.before-comit"),
            () -> CrashPointHook.plan("settle.before-comit:halt"))) {
      assertThatIllegalArgumentException()
          .isThrownBy(slip)
          .withStackTraceContaining("There is no crash point 'settle.before-comit'")
          .withStackTraceContaining("settle.before-commit");
    }
  }

  @Test
  void theNamesAreThoseOfTheSources() throws IOException {
    Pattern reach = Pattern.compile("CrashPoints\\.reach\\(\\s*\"([^\"]+)\"");
    Set<String> reached = new TreeSet<>();
    for (String module : List.of("pigeonhole-core", "pigeonhole-jdbc", "pigeonhole-testkit")) {
      try (Stream<Path> files = Files.walk(Path.of("..", module, "src", "main", "java"))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
          reach.matcher(Files.readString(file)).results().forEach(it -> reached.add(it.group(1)));
        }
      }
    }
    assertThat(CrashPointNames.ALL).containsExactlyInAnyOrderElementsOf(reached);
  }

  @Test
  void aChildProcessHaltsWhereItsPropertySays() throws Exception {
    assertThat(exitOfChild("-Dpigeonhole.crash=test.child:halt:2")).isEqualTo(137);
    assertThat(exitOfChild("-Dpigeonhole.crash=test.child:halt:4")).isZero();
  }

  private static int exitOfChild(String property) throws IOException, InterruptedException {
    Process child =
        new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java",
                "-cp",
                System.getProperty("java.class.path"),
                property,
                Child.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      assertThat(child.waitFor(300, TimeUnit.SECONDS)).isTrue();
      return child.exitValue();
    } finally {
      child.destroyForcibly();
    }
  }

  /** Reaches its point three times and ends. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) {
      for (int i = 0; i < 3; i++) {
        CrashPoints.reach("test.child");
      }
    }
  }
}
