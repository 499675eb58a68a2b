package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class ContentBudgetTest {
  private static final String MEGABYTE = "x".repeat(1 << 20);

  private final HandlerLine line = Handlers.line(8, 2_000);

  private void enqueue(int rows, String content) {
    for (int i = 0; i < rows; i++) {
      line.enqueue(Handlers.work(i + 1, content));
    }
  }

  @Test
  void beforeAnythingIsKnownOfTheSizesTheLimitOfALoadIsEnough() {
    assertThat(line.takes(2_000)).isEqualTo(2_000);
  }

  @Test
  void smallOnesAreLoadedAsManyAsAreWanted() {
    enqueue(100, "small");
    assertThat(line.takes(2_000)).isEqualTo(2_000);
  }

  @Test
  void largeOnesWaitInTheStoreUntilTheSlotsHaveTakenSome() {
    enqueue(16, MEGABYTE);
    assertThat(line.takes(2_000)).isNotPositive();

    line.wakeWorkers();
    assertThat(line.takes(2_000)).isBetween(8, 32);
  }

  @Test
  void headersCount() {
    for (int i = 0; i < 300; i++) {
      line.enqueue(Handlers.work(i + 1, "x", new byte[60_000], null));
    }
    assertThat(line.takes(2_000)).isNotPositive();
  }

  @Test
  void theFailureBeforeARetryCounts() {
    Failure failure =
        new Failure(ErrorCode.HANDLER_FAILED, "T", "down", "x".repeat(8_000), "f", Instant.EPOCH);
    for (int i = 0; i < 2_100; i++) {
      line.enqueue(Handlers.work(i + 1, "x", new byte[0], failure));
    }
    assertThat(line.takes(2_000)).isNotPositive();
  }

  @Test
  void whatIsTakenBackCountsNoLonger() {
    enqueue(16, MEGABYTE);
    line.withdraw(any -> true);
    assertThat(line.takes(2_000)).isPositive();
  }

  @Test
  void slotsAreNeverIdleForWantOfMemory() {
    enqueue(4, "x".repeat(20 << 20));
    assertThat(line.takes(2_000)).isEqualTo(4);
  }
}
