package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HeatingTest {

  private static boolean warmAfter(double... speeds) {
    Heating heating = new Heating();
    for (double speed : speeds) {
      heating.ran(speed);
    }
    return heating.isWarm();
  }

  @Test
  void whatStillGetsFasterIsCold() {
    assertThat(warmAfter(10, 20, 30, 40, 40, 40)).isFalse();
    assertThat(warmAfter(10, 20, 30, 40, 40, 40, 41, 41, 42)).isFalse();
    assertThat(warmAfter(10, 20, 30, 40, 40, 40, 41, 41, 41)).isTrue();
  }

  @Test
  void oneSlowRunAmongFasterOnesIsNoise() {
    assertThat(warmAfter(20, 20, 20, 18, 25, 25)).isFalse();
    assertThat(warmAfter(40, 40, 40, 38, 41, 41)).isTrue();
  }

  @Test
  void fewerThanSixRunsSayNothing() {
    assertThat(warmAfter()).isFalse();
    assertThat(warmAfter(40, 40, 40, 40, 40)).isFalse();
  }
}
