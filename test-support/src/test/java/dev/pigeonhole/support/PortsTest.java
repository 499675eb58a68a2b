package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PortsTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  @Test
  void eachIsAnotherOneThatIsFreeAndBelowTheOutgoingOnes() {
    Set<Integer> ports = new HashSet<>();
    for (int i = 0; i < 250; i++) {
      int port = Ports.free();
      assertThat(port).isBetween(15_000, 29_999);
      assertThat(ports.add(port)).as("%d is returned for the first time", port).isTrue();
    }
  }

  @Test
  void twoThatRunAtTheSameTimeShareNoBlock() {
    List<JavaProcess> others = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        others.add(JavaProcess.of(Other.class).heap("32m").start());
      }
      Set<Integer> blocks = new HashSet<>(Set.of(Ports.free() / 100));
      for (JavaProcess other : others) {
        String line = other.awaitLine("PORTS", PATIENCE);
        Set<Integer> ofOne = new HashSet<>();
        Stream.of(line.split(" ")).skip(1).forEach(port -> ofOne.add(Integer.parseInt(port) / 100));
        assertThat(ofOne).hasSizeBetween(2, 3).doesNotContainAnyElementsOf(blocks);
        blocks.addAll(ofOne);
      }
    } finally {
      others.forEach(JavaProcess::close);
    }
  }

  /** Prints ports of more than one block, and lives until it is killed. */
  static final class Other {
    private Other() {}

    public static void main(String[] args) throws InterruptedException {
      ParentWatch.install();
      StringBuilder line = new StringBuilder("PORTS");
      for (int i = 0; i < 150; i++) {
        line.append(' ').append(Ports.free());
      }
      System.out.println(line);
      Thread.currentThread().join();
    }
  }
}
