package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LedgerTest {

  @TempDir Path directory;

  @Test
  void linesComeBackInOrder() {
    Path path = directory.resolve("ledger");
    try (Ledger ledger = Ledger.open(path)) {
      ledger.append("first");
      ledger.append("");
      ledger.append("zweite Zeile: grün");
    }

    assertThat(Ledger.read(path)).containsExactly("first", "", "zweite Zeile: grün");
  }

  @Test
  void tornLastLineIsIgnoredAndThenRemoved() throws Exception {
    Path path = directory.resolve("ledger");
    Files.writeString(path, "whole\nto");
    assertThat(Ledger.read(path)).containsExactly("whole");

    try (Ledger ledger = Ledger.open(path)) {
      ledger.append("next");
    }

    assertThat(Ledger.read(path)).containsExactly("whole", "next");
  }

  @Test
  void manyThreadsLoseNothing() throws Exception {
    Path path = directory.resolve("ledger");
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try (Ledger ledger = Ledger.open(path)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 400; i++) {
        String line = "line " + i;
        all.add(threads.submit(() -> ledger.append(line)));
      }
      for (Future<?> one : all) {
        one.get();
      }
    } finally {
      threads.shutdown();
    }

    assertThat(Ledger.read(path))
        .containsExactlyInAnyOrderElementsOf(
            IntStream.range(0, 400).mapToObj(i -> "line " + i).toList());
  }

  @Test
  void interruptedThreadStillAppends() {
    Path path = directory.resolve("ledger");
    try (Ledger ledger = Ledger.open(path)) {
      Thread.currentThread().interrupt();
      ledger.append("interrupted");
      assertThat(Thread.interrupted()).isTrue();
      ledger.append("and on");
    }

    assertThat(Ledger.read(path)).containsExactly("interrupted", "and on");
  }

  @Test
  void lineBreaksAreRefused() {
    try (Ledger ledger = Ledger.open(directory.resolve("ledger"))) {
      assertThatThrownBy(() -> ledger.append("one\ntwo"))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void everythingConfirmedSurvivesAKill() {
    Path path = directory.resolve("ledger");
    JavaProcess writer = JavaProcess.of(Writer.class).args(path).start();
    writer.awaitLine("200", Duration.ofMinutes(3));
    writer.kill9();

    int confirmed = Integer.parseInt(writer.output().get(writer.output().size() - 1));
    assertThat(Ledger.read(path)).hasSizeGreaterThanOrEqualTo(confirmed).startsWith("1", "2", "3");
  }

  /** Appends for ever and prints each number once it is durable. */
  static final class Writer {
    public static void main(String[] args) {
      ParentWatch.install();
      Ledger ledger = Ledger.open(Path.of(args[0]));
      for (int i = 1; ; i++) {
        ledger.append(Integer.toString(i));
        System.out.println(i);
      }
    }
  }

  @Test
  void emptyLedgerHasNoLines() throws Exception {
    Path path = directory.resolve("ledger");
    Files.writeString(path, "", StandardOpenOption.CREATE);

    assertThat(Ledger.read(path)).isEmpty();
  }
}
