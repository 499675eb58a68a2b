package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.testkit.TestInbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

  /** What is logged at WARN by this class of the engine. */
  private static List<ILoggingEvent> warnings(String name, Runnable work) {
    Logger engine = (Logger) LoggerFactory.getLogger("dev.pigeonhole.internal.dispatch." + name);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Level before = engine.getLevel();
    engine.setLevel(Level.WARN);
    engine.addAppender(log);
    try {
      work.run();
    } finally {
      engine.detachAppender(log);
      engine.setLevel(before);
    }
    return log.list;
  }

  private static Map<String, String> pairs(ILoggingEvent line) {
    return line.getKeyValuePairs().stream()
        .collect(Collectors.toMap(pair -> pair.key, pair -> pair.value.toString()));
  }

  @Test
  void aPoisonedDeliveryIsALineThatProgramsCanRead() {
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
    List<ILoggingEvent> log =
        warnings(
            "Endings",
            () -> {
              inbox.receive("m", "x");
              inbox.drain();
            });

    assertThat(log).hasSize(1);
    assertThat(log.get(0).getFormattedMessage()).contains("is poisoned after attempt 1");
    assertThat(pairs(log.get(0)))
        .isEqualTo(
            Map.of(
                "pigeonhole.event", "poisoned",
                "pigeonhole.inbox", "inbox",
                "pigeonhole.handler.key", "h",
                "pigeonhole.message.id", "m",
                "pigeonhole.attempt", "1",
                "pigeonhole.code", "PH-HND-04"));
  }

  private static TestInbox inbox(OnConflict onConflict) {
    return TestInbox.of(
        Channel.named("c").onConflict(onConflict).on(String.class).handle("h", text -> {}).build());
  }

  @ParameterizedTest
  @CsvSource({"KEEP, kept until somebody decides", "REJECT, 'refused, and not kept'"})
  void otherContentUnderAKnownIdIsALineThatProgramsCanRead(OnConflict onConflict, String said) {
    TestInbox inbox = inbox(onConflict);
    List<ILoggingEvent> log =
        warnings(
            "ConflictLog",
            () -> {
              inbox.receive("m", "x");
              inbox.receive("m", "x");
              inbox.receive("m", "y");
            });

    assertThat(log).hasSize(1);
    assertThat(log.get(0).getFormattedMessage()).contains("c/m").contains(said);
    assertThat(pairs(log.get(0)))
        .isEqualTo(
            Map.of(
                "pigeonhole.event", "conflict",
                "pigeonhole.inbox", "inbox",
                "pigeonhole.channel", "c",
                "pigeonhole.message.id", "m",
                "pigeonhole.code", "PH-ID-08"));
  }

  @Test
  void aSenderThatUsesAllItsIdsAgainDoesNotFloodTheLog() {
    int messages = 2_000;
    TestInbox inbox = inbox(OnConflict.REJECT);
    List<ILoggingEvent> log =
        warnings(
            "ConflictLog",
            () -> {
              inbox.receive("m", "x");
              for (int i = 0; i < messages; i++) {
                inbox.receive("m", "y");
              }
            });

    assertThat(log).hasSizeBetween(1, messages - 1);
  }
}
