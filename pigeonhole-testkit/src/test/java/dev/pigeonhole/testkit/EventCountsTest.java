package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class EventCountsTest {
  private final EventCounts counts = EventCounts.create();

  private static Channel channel(String name, Unhandled unhandled, OnMissingId onMissingId) {
    return Channel.named(name)
        .unhandled(unhandled)
        .onMissingId(onMissingId)
        .on(String.class)
        .named("text")
        .handle(
            name + "-handler",
            text -> {
              if (text.equals("bad")) {
                throw new IllegalStateException("no");
              }
            },
            retrying(RetryPolicy.defaults().maxAttempts(2)))
        .build();
  }

  private static Message message(@Nullable String id, String type, String text) {
    return Message.encoded(id, type, text.getBytes(UTF_8), "text/plain");
  }

  @Test
  void everythingOddIsCountedWhereItHappened() {
    TestInbox inbox =
        TestInbox.of(
                channel("keeps", Unhandled.KEEP, OnMissingId.HASH_CONTENT),
                channel("ignores", Unhandled.IGNORE, OnMissingId.ACCEPT_EVERY_COPY),
                channel("rejects", Unhandled.REJECT, OnMissingId.REJECT))
            .with(it -> it.listener(counts));

    for (String channel : new String[] {"keeps", "ignores", "rejects"}) {
      inbox.receive(channel, message("m", "text", "x"));
      inbox.receive(channel, message("m", "text", "x"));
      inbox.receive(channel, message("m", "text", "y"));
      inbox.receive(channel, message("n", "unknown", "x"));
      inbox.receive(channel, message(null, "text", "z"));
      inbox.receive(channel, message(null, "text", "z"));
    }
    inbox.receive("keeps", message("b", "text", "bad"));
    inbox.drain();
    inbox.clock().advance(Duration.ofDays(1));
    inbox.drain();

    assertThat(counts.of(InboxEvent.Repeated.class, "keeps")).isEqualTo(2);
    assertThat(counts.of(InboxEvent.Repeated.class, "ignores")).isEqualTo(1);
    assertThat(counts.of(InboxEvent.Repeated.class)).isEqualTo(4);
    assertThat(counts.of(InboxEvent.Conflicted.class)).isEqualTo(3);
    assertThat(counts.of(InboxEvent.Unhandled.class, "keeps")).isEqualTo(1);
    assertThat(counts.of(InboxEvent.Unhandled.class, "ignores")).isEqualTo(1);
    assertThat(counts.of(InboxEvent.Unhandled.class, "rejects")).isZero();
    assertThat(counts.of(InboxEvent.WithoutId.class, "keeps")).isEqualTo(2);
    assertThat(counts.of(InboxEvent.WithoutId.class, "ignores")).isEqualTo(2);
    assertThat(counts.of(InboxEvent.Rejected.class, "rejects")).isEqualTo(3);
    assertThat(counts.of(InboxEvent.Failed.class, "keeps-handler")).isEqualTo(1);
    assertThat(counts.of(InboxEvent.Poisoned.class, "keeps-handler")).isEqualTo(1);
    assertThat(counts.of(InboxEvent.Completed.class, "rejects-handler")).isEqualTo(1);
    assertThat(counts.of(InboxEvent.NodeDied.class)).isZero();
  }
}
