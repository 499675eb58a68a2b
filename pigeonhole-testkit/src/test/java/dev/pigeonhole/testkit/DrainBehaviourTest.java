package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DrainCheck;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.TypeCounts;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What an operator asks before a key goes, and what waits of which type. */
class DrainBehaviourTest {
  private final TestClock clock = new TestClock();
  private final MemoryStore store = MemoryStore.create().clock(clock);

  private TestInbox inbox(HandlerKey key) {
    Channel channel =
        Channel.named("c").on(String.class).named("text").handle(key, text -> {}).build();
    return TestInbox.on(store, clock, channel);
  }

  @Test
  void aDrainCheckTellsOfThisKeyAndOfTheOthersOfItsHandler() {
    TestInbox old = inbox(HandlerKey.of("v1"));
    old.receive("m-1", "x");
    old.receive("m-2", "x");
    TestInbox renamed = inbox(HandlerKey.of("v2").formerly("v1"));
    renamed.receive("m-3", "x");
    InboxAdmin admin = renamed.inbox().admin();

    assertThat(admin.drainCheck("v1"))
        .isEqualTo(new DrainCheck("v1", Count.of(2), Map.of("v2", Count.of(1))));
    assertThat(admin.drainCheck("v2"))
        .isEqualTo(new DrainCheck("v2", Count.of(1), Map.of("v1", Count.of(2))));
    assertThat(admin.drainCheck("v1").drained()).isFalse();

    renamed.drain();
    assertThat(admin.drainCheck("v1"))
        .isEqualTo(new DrainCheck("v1", Count.of(0), Map.of("v2", Count.of(0))));
    assertThat(admin.drainCheck("v1").drained()).isTrue();
  }

  @Test
  void keysThatBecameOneHandlerLaterBelongToItsDrainCheck() {
    inbox(HandlerKey.of("v1")).receive("m-1", "x");
    inbox(HandlerKey.of("v2")).receive("m-2", "x");
    InboxAdmin admin = inbox(HandlerKey.of("v2").formerly("v1")).inbox().admin();

    assertThat(admin.drainCheck("v1"))
        .isEqualTo(new DrainCheck("v1", Count.of(1), Map.of("v2", Count.of(1))));
    assertThat(admin.drainCheck("v2"))
        .isEqualTo(new DrainCheck("v2", Count.of(1), Map.of("v1", Count.of(1))));
  }

  @Test
  void aDrainCheckCountsUpToTenThousandAndIsNotDrainedThen() {
    TestInbox inbox = inbox(HandlerKey.of("v1"));
    for (int i = 0; i < 10_001; i++) {
      inbox.receive("m-" + i, "x");
    }

    DrainCheck check = inbox.inbox().admin().drainCheck("v1");
    assertThat(check.open()).isEqualTo(new Count(10_000, true));
    assertThat(check.drained()).isFalse();
    assertThat(new DrainCheck("v1", new Count(0, true), Map.of()).drained()).isFalse();
    assertThat(inbox.inbox().admin().countsByType())
        .containsExactly(
            new TypeCounts("text", new Count(10_000, true), Count.of(0), Count.of(0), Count.of(0)));
  }
}
