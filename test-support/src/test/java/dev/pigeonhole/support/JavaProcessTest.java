package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class JavaProcessTest {

  private static final Duration LIMIT = Duration.ofMinutes(5);

  @Test
  void childGetsArgumentsPropertiesAndHeap() {
    JavaProcess child =
        JavaProcess.of(Talker.class)
            .args("one", 2)
            .heap("32m")
            .systemProperty("colour", "green")
            .start();

    assertThat(child.waitFor(LIMIT)).isEqualTo(7);
    assertThat(child.exitCode()).isEqualTo(7);
    child.awaitLine("done", LIMIT);
    assertThat(child.output()).contains("args [one, 2]", "colour green", "oops on stderr");
    assertThat(child.awaitLine(line -> line.startsWith("heap "), LIMIT)).matches("heap [23]\\d");
  }

  static final class Talker {
    public static void main(String[] args) {
      System.out.println("args " + Arrays.toString(args));
      System.out.println("colour " + System.getProperty("colour"));
      System.out.println("heap " + (Runtime.getRuntime().maxMemory() >> 20));
      System.err.println("oops on stderr");
      System.out.println("done");
      System.exit(7);
    }
  }

  @Test
  void missingLineFailsWithTheOutput() {
    JavaProcess child = JavaProcess.of(Talker.class).start();

    assertThatThrownBy(() -> child.awaitLine("never said", LIMIT))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("ended without a line that contains \"never said\"")
        .hasMessageContaining("colour null");
  }

  @Test
  void killedChildRunsNoHook() {
    try (JavaProcess child = JavaProcess.of(Sleeper.class).start()) {
      child.awaitLine("ready", LIMIT);
      child.kill9();

      assertThat(child.exitCode()).isEqualTo(137);
      assertThat(child.output()).doesNotContain("hook");
    }
  }

  @Test
  void terminatedChildRunsItsHook() {
    try (JavaProcess child = JavaProcess.of(Sleeper.class).start()) {
      child.awaitLine("ready", LIMIT);
      child.terminate();

      assertThat(child.waitFor(LIMIT)).isEqualTo(143);
      child.awaitLine("hook", LIMIT);
    }
  }

  static final class Sleeper {
    public static void main(String[] args) throws InterruptedException {
      ParentWatch.install();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
      System.out.println("ready");
      new CountDownLatch(1).await();
    }
  }

  @Test
  void pausedChildDoesNotMoveUntilResumed() {
    try (JavaProcess child = JavaProcess.of(Sleeper.class).start()) {
      child.awaitLine("ready", LIMIT);
      child.pause();
      child.terminate();
      assertThatThrownBy(() -> child.awaitLine("hook", Duration.ofMillis(300)))
          .isInstanceOf(AssertionError.class);

      child.resume();

      child.awaitLine("hook", LIMIT);
    }
  }

  @Test
  void everythingEndsWithAKilledParent() {
    everythingEndsAfter(JavaProcess::kill9);
  }

  @Test
  void everythingEndsWithATerminatedParent() {
    everythingEndsAfter(JavaProcess::terminate);
  }

  private static void everythingEndsAfter(Consumer<JavaProcess> death) {
    try (JavaProcess parent = JavaProcess.of(Parent.class).start()) {
      List<Long> pids = new ArrayList<>();
      for (String name : List.of("awake ", "paused ", "postgres ", "mariadb ")) {
        pids.add(Long.parseLong(parent.awaitLine(name, LIMIT).substring(name.length())));
      }
      Path home = Path.of(parent.awaitLine("home ", LIMIT).substring("home ".length()));
      assertThat(pids).noneMatch(ServerProcess::isGone);
      assertThat(home).exists();

      death.accept(parent);

      Eventually.passes(LIMIT, () -> assertThat(pids).allMatch(ServerProcess::isGone));
      Eventually.until("the data to be deleted", LIMIT, () -> Files.notExists(home));
    }
  }

  /** Has two children and two servers, and takes care of none of them. */
  static final class Parent {
    public static void main(String[] args) throws InterruptedException {
      ParentWatch.install();
      JavaProcess awake = JavaProcess.of(Stubborn.class).start();
      JavaProcess paused = JavaProcess.of(Stubborn.class).start();
      PostgresServer server = PostgresServer.start();
      server.pause();
      paused.pause();
      System.out.println("awake " + awake.pid());
      System.out.println("paused " + paused.pid());
      System.out.println("postgres " + server.pid());
      System.out.println("home " + server.home());
      System.out.println("mariadb " + MariaDbServer.shared().pid());
      new CountDownLatch(1).await();
    }
  }

  /** Does not watch its parent. */
  static final class Stubborn {
    public static void main(String[] args) throws InterruptedException {
      new CountDownLatch(1).await();
    }
  }
}
