package dev.pigeonhole.jdbc;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.H2Database;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** Whatever goes wrong with a message, its content stays out of the log, at every level. */
class LogContentTest {
  private static final String CANARY = "canary-4712";
  private static final Duration LONG = Duration.ofMinutes(5);

  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private Level former;

  @BeforeEach
  void listen() {
    former = logger.getLevel();
    logger.setLevel(Level.ALL);
    log.start();
    logger.addAppender(log);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(log);
    logger.setLevel(former);
  }

  private List<String> lines() {
    synchronized (log) {
      return log.list.stream()
          .map(
              event ->
                  event.getFormattedMessage()
                      + (event.getThrowableProxy() == null
                          ? ""
                          : "\n" + ThrowableProxyUtil.asString(event.getThrowableProxy())))
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void e27_noFailureConflictOrRejectionTellsContent(TestDatabase database) {
    Schema.migrate(database.dataSource());
    Channel channel =
        Channel.named("orders")
            .on(String.class)
            .named("text")
            .handle(
                "mail",
                text -> {
                  throw new IllegalStateException("no mail server");
                })
            .build();
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(12)))
            .channel(channel)
            .maxPayload(1_000)
            .retry(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(2))
            .build();
    try (RunningInbox running = inbox.start()) {
      accepted(inbox, Message.of("failing", "content of " + CANARY), Acceptance.Accepted.class);
      accepted(inbox, Message.of("failing", "another " + CANARY), Acceptance.Conflict.class);
      byte[] broken = (CANARY + "\u00ff\u00fe").getBytes(ISO_8859_1);
      accepted(
          inbox,
          Message.encoded("undecodable", "text", broken, "text/plain"),
          Acceptance.Accepted.class);
      accepted(inbox, Message.of("huge", CANARY.repeat(1_000)), Acceptance.Rejected.class);
      Eventually.passes(LONG, () -> assertThat(inbox.admin().poisoned(10)).hasSize(2));
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    assertThat(lines())
        .anyMatch(line -> line.contains("no mail server"))
        .anyMatch(line -> line.contains("undecodable") && line.contains("PH-PAY-"))
        .anyMatch(line -> line.contains("failing") && line.contains("with other content"))
        .noneMatch(line -> line.contains(CANARY));
  }

  @Test
  void aFailingInlineHandlerIsOneLineAndAFloodOfThemDoesNotFloodTheLog() {
    int messages = 500;
    long seconds;
    try (TestDatabase database = H2Database.memory()) {
      Schema.migrate(database.dataSource());
      Channel channel =
          Channel.named("orders")
              .on(String.class)
              .handle(
                  "mail",
                  text -> {
                    throw new IllegalStateException("no\n mail server");
                  },
                  HandlerOption.inline())
              .build();
      Inbox inbox = Inbox.on(JdbcStore.of(database.pool(12))).channel(channel).build();
      long began = System.nanoTime();
      for (int i = 0; i < messages; i++) {
        accepted(inbox, Message.of("m-" + i, CANARY), Acceptance.Unfinished.class);
      }
      seconds = Duration.ofNanos(System.nanoTime() - began).toSeconds();
    }
    List<ILoggingEvent> told = List.copyOf(log.list);
    assertThat(told)
        .filteredOn(event -> event.getLevel() == Level.INFO)
        .hasSizeBetween(1, (int) Math.min(messages, 20 * (seconds + 2))) // 20 in a second
        .first()
        .extracting(ILoggingEvent::getFormattedMessage)
        .asString()
        .contains("'mail'", "m-0", "PH-HND-01", "java.lang.IllegalStateException: no mail server");
    assertThat(told).noneMatch(event -> event.getThrowableProxy() != null);
    assertThat(lines()).noneMatch(line -> line.contains(CANARY));
  }

  private static void accepted(Inbox inbox, Message message, Class<? extends Acceptance> how) {
    assertThat(inbox.accept("orders", message)).isInstanceOf(how);
  }
}
