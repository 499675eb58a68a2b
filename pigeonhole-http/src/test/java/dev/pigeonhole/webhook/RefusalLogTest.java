package dev.pigeonhole.webhook;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.testkit.TestClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class RefusalLogTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger(RefusalLog.class);
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final TestClock clock = new TestClock();
  private final RefusalLog log = new RefusalLog("/hooks/stripe", clock);

  @BeforeEach
  void listen() {
    lines.start();
    logger.addAppender(lines);
  }

  @AfterEach
  void leave() {
    logger.detachAppender(lines);
  }

  @Test
  void aFloodOfRefusalsIsOneLineAMinute() {
    for (int i = 0; i < 1_000; i++) {
      log.refused(ErrorCode.SIGNATURE_WRONG, "PH-WEB-02: wrong.");
    }
    clock.advance(ofMinutes(1));
    log.refused(ErrorCode.SIGNATURE_WRONG, "PH-WEB-02: wrong.");
    assertThat(lines.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly(
            "Webhook /hooks/stripe did not take a request: PH-WEB-02: wrong.",
            "Webhook /hooks/stripe did not take a request: PH-WEB-02: wrong."
                + " (and 999 more since the last line)");
  }

  @Test
  void sc16_whatAHandlerThrewCannotBeginANewLine() {
    log.refused(ErrorCode.HANDLER_FAILED, "PH-HND-01: a\r\nb\u2028c" + "x".repeat(1_000));
    assertThat(lines.list.get(0).getFormattedMessage())
        .contains("PH-HND-01: a b cxxx")
        .hasSizeLessThan(600);
  }

  @Test
  void oneReasonDoesNotHideAnother() {
    log.refused(ErrorCode.SIGNATURE_WRONG, "PH-WEB-02: wrong.");
    log.refused(ErrorCode.SIGNATURE_OUT_OF_TIME, "PH-WEB-03: old.");
    log.failed(new IllegalStateException("down"));
    assertThat(lines.list).hasSize(3);
  }
}
