package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A dispatcher that does not come to its mail. */
class MailTest {
  private static final int LIMIT = 1 << 20;

  private final Mail mail = new Mail(LIMIT);
  private final List<String> read = new ArrayList<>();

  private static List<HandOver> accepted(int bytes) {
    Work work = Handlers.work(1, "x".repeat(bytes));
    return List.of(new HandOver(work.delivery(), work.message()));
  }

  private void readAll() {
    for (Runnable news = mail.poll(); news != null; news = mail.poll()) {
      news.run();
    }
  }

  @Test
  void contentThatNobodyFetchesIsLimited() {
    int taken = 0;
    for (int i = 0; i < 1_000; i++) {
      taken += mail.offer(accepted(10_000), () -> read.add("offer")) ? 1 : 0;
    }
    assertThat(taken).isBetween(90, LIMIT / 10_000);

    readAll();
    assertThat(read).hasSize(taken);
    assertThat(mail.offer(accepted(10_000), () -> {})).as("once it is read").isTrue();
  }

  @Test
  void acceptsWithoutContentAreLimitedToo() {
    int taken = 0;
    for (int i = 0; i < 100_000; i++) {
      taken += mail.offer(List.of(), () -> {}) ? 1 : 0;
    }
    assertThat(taken).isLessThan(10_000);
  }

  @Test
  void aWakeUpComesOnceHoweverOftenItIsPosted() {
    Mail.WakeUp wakeUp = mail.wakeUp(() -> read.add("wake"));
    for (int i = 0; i < 1_000; i++) {
      wakeUp.post();
    }
    readAll();
    assertThat(read).containsExactly("wake");

    wakeUp.post();
    readAll();
    assertThat(read).as("after the first was read").hasSize(2);
  }
}
