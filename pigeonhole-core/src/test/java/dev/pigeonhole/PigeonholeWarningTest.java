package dev.pigeonhole;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class PigeonholeWarningTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();

  @BeforeEach
  void listen() {
    log.start();
    logger.addAppender(log);
  }

  @AfterEach
  void stop() {
    logger.detachAppender(log);
  }

  private List<String> warnings() {
    return log.list.stream()
        .filter(event -> event.getLevel() == Level.WARN)
        .map(ILoggingEvent::getFormattedMessage)
        .toList();
  }

  private static Channel direct(boolean optOut) {
    ChannelBuilder channel = Channel.named("live").direct();
    if (optOut) {
      channel.withoutInbox();
    }
    return channel.on(String.class).handle("show", text -> {}).build();
  }

  @Test
  void aChannelWithoutInboxIsNamedInAWarning() {
    Pigeonhole.of().direct(direct(false)).requireInbox(Requirement.WARN).build();

    assertThat(warnings()).hasSize(1);
    assertThat(warnings().get(0)).contains("PH-CFG-08", "'live'", ".withoutInbox()");
  }

  @Test
  void thereIsNoWarningWithoutThePolicyOrWithTheOptOut() {
    Pigeonhole.of().direct(direct(false)).build();
    Pigeonhole.of().direct(direct(true)).requireInbox(Requirement.WARN).build();

    assertThat(warnings()).isEmpty();
  }

  @Test
  void aFailingDirectHandlerIsLoggedOnOneLineWithItsCause() {
    Channel failing =
        Channel.named("live")
            .direct()
            .on(String.class)
            .handle(
                "show",
                text -> {
                  throw new IllegalStateException("no screen");
                })
            .build();

    Pigeonhole.of()
        .direct(failing)
        .build()
        .publish(Message.of("m-1", "hello").from("\u202eshop\u2028"));

    assertThat(warnings()).hasSize(1);
    assertThat(warnings().get(0))
        .contains("'show'", "'live'", "\\u202Eshop\\u2028/m-1")
        .doesNotContain("\u202e", "\u2028");
    assertThat(log.list.get(0).getThrowableProxy().getMessage()).isEqualTo("no screen");
  }
}
