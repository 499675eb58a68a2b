package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LoadLimitTest {
  private static final long MEGABYTE = 1 << 20;

  private final LoadLimit limit = new LoadLimit(4 * MEGABYTE);

  @Test
  void aLoadThatRunsOutOfMemoryHalvesTheNextOne() {
    assertThat(limit.outOfMemory()).isTrue();
    assertThat(limit.bytes()).isEqualTo(2 * MEGABYTE);
  }

  @Test
  void aSingleMessageCannotBeHalved() {
    int halved = 0;
    while (limit.outOfMemory()) {
      halved++;
    }
    assertThat(halved).isEqualTo(22);
    assertThat(limit.bytes()).isEqualTo(1);
  }

  @Test
  void loadsThatSucceedBringItBackButNotBeyondWhereItWas() {
    limit.outOfMemory();
    limit.outOfMemory();
    for (int i = 0; i < 99; i++) {
      limit.succeeded();
    }
    assertThat(limit.bytes()).isEqualTo(MEGABYTE);
    for (int i = 0; i < 1_000; i++) {
      limit.succeeded();
    }
    assertThat(limit.bytes()).isEqualTo(4 * MEGABYTE);
  }

  @Test
  void theHandlersOfASmallHeapShareIt() {
    assertThat(LoadLimit.share(256 * MEGABYTE, 1)).isEqualTo(16 * MEGABYTE);
    assertThat(LoadLimit.share(8_192 * MEGABYTE, 1)).isEqualTo(16 * MEGABYTE);
    assertThat(LoadLimit.share(256 * MEGABYTE, 16)).isEqualTo(MEGABYTE);
    assertThat(LoadLimit.share(0, 0)).isEqualTo(1);
  }
}
