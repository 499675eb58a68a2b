package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.store.Versions;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ReplayLimitTest {

  @Test
  void aMessageIsReplayedUntilItsLivesAreUsedUp() {
    AtomicInteger runs = new AtomicInteger();
    TestInbox inbox =
        TestInbox.of(
            Channel.named("c")
                .on(String.class)
                .handle("h", text -> runs.incrementAndGet())
                .build());
    inbox.receive("m", "x");
    inbox.drain();
    InboxAdmin admin = inbox.inbox().admin();
    for (int life = 1; life <= Versions.MOST_LIVES; life++) {
      assertThat(admin.replay("c", "m", "h", "once more")).isTrue();
      inbox.drain();
    }
    assertThat(runs).hasValue(1 + Versions.MOST_LIVES);

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> admin.replay("c", "m", "h", "once more"))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.REPLAYED_TOO_OFTEN));
    assertThat(inbox.inbox().find("c", "m", "h").orElseThrow().state())
        .isEqualTo(DeliveryState.COMPLETED);
  }
}
