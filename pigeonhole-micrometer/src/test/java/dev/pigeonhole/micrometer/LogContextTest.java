package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.testkit.TestInbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** What the log says of attempts beside its text. */
class LogContextTest {
  private final List<Map<String, String>> seen = new ArrayList<>();

  @AfterEach
  void clear() {
    MDC.clear();
  }

  @Test
  void whatAHandlerLogsSaysForWhichAttempt() {
    MDC.put("pigeonhole.attempt", "mine");
    MDC.put("user", "alice");
    TestInbox inbox =
        TestInbox.of(
            Channel.named("c")
                .on(String.class)
                .handle("h", text -> seen.add(MDC.getCopyOfContextMap()))
                .build());
    inbox.receive("m", "x");
    inbox.drain();

    assertThat(seen)
        .containsExactly(
            Map.of(
                "pigeonhole.message.id", "m",
                "pigeonhole.handler.key", "h",
                "pigeonhole.attempt", "1",
                "user", "alice"));
    assertThat(MDC.getCopyOfContextMap())
        .isEqualTo(Map.of("pigeonhole.attempt", "mine", "user", "alice"));
  }

  @Test
  void aBatchHasItsHandlerInCommon() {
    TestInbox inbox =
        TestInbox.of(
            Channel.named("c")
                .on(String.class)
                .handleBatch("h", 10, batch -> seen.add(MDC.getCopyOfContextMap()))
                .build());
    inbox.receive("m", "x");
    inbox.receive("n", "x");
    inbox.drain();

    assertThat(seen).containsExactly(Map.of("pigeonhole.handler.key", "h"));
  }

  @Test
  void aPoisonedDeliveryIsALineThatProgramsCanRead() {
    Logger engine = (Logger) LoggerFactory.getLogger("dev.pigeonhole.internal.dispatch.Endings");
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Level before = engine.getLevel();
    engine.setLevel(Level.WARN);
    engine.addAppender(log);
    try {
      TestInbox inbox =
          TestInbox.of(
              Channel.named("c")
                  .on(String.class)
                  .handle(
                      "h",
                      text -> {
                        throw new PoisonException("never");
                      })
                  .build());
      inbox.receive("m", "x");
      inbox.drain();
    } finally {
      engine.detachAppender(log);
      engine.setLevel(before);
    }

    assertThat(log.list).hasSize(1);
    ILoggingEvent line = log.list.get(0);
    assertThat(line.getFormattedMessage()).contains("is poisoned after attempt 1");
    assertThat(
            line.getKeyValuePairs().stream()
                .collect(Collectors.toMap(pair -> pair.key, pair -> pair.value.toString())))
        .isEqualTo(
            Map.of(
                "pigeonhole.event", "poisoned",
                "pigeonhole.inbox", "inbox",
                "pigeonhole.handler.key", "h",
                "pigeonhole.message.id", "m",
                "pigeonhole.attempt", "1",
                "pigeonhole.code", "PH-HND-04"));
  }
}
