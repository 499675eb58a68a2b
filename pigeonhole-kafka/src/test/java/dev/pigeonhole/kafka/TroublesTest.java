package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class TroublesTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger(Troubles.class);
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final AtomicLong clock = new AtomicLong();
  private final Troubles troubles = new Troubles("kafka:orders", clock::get);

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
  void aTroubleIsShownUntilItIsOver() {
    assertThat(troubles.text()).isEmpty();
    troubles.report("topic orders", ErrorCode.KAFKA_TOPIC_MISSING, "missing.", null);
    troubles.report("commit", ErrorCode.KAFKA_GROUP, "not now.", null);
    assertThat(troubles.text().orElseThrow().lines())
        .containsExactly("PH-KFK-01: missing.", "PH-KFK-03: not now.");

    troubles.over("topic orders");
    assertThat(troubles.text()).contains("PH-KFK-03: not now.");
    troubles.over("commit");
    assertThat(troubles.text()).isEmpty();
  }

  @Test
  void oneThatGoesOnIsOneLineAMinute() {
    for (int i = 0; i < 1_000; i++) {
      troubles.report("commit", ErrorCode.KAFKA_GROUP, "not now.", null);
    }
    clock.addAndGet(Duration.ofMinutes(1).toNanos());
    troubles.report("commit", ErrorCode.KAFKA_GROUP, "not now.", null);
    assertThat(lines.list).hasSize(2);
  }

  @Test
  void whatOthersSayCannotBeginANewLine() {
    troubles.report("commit", ErrorCode.KAFKA_GROUP, "a\r\nb" + "x".repeat(5_000), null);
    assertThat(troubles.text().orElseThrow()).contains("a b").hasSizeLessThan(1_100);
  }

  @Test
  void d107_whatTheClientSaysHasACode() {
    assertThat(code(new UnknownTopicOrPartitionException())).isEqualTo("PH-KFK-01");
    assertThat(code(new InvalidTopicException("a b"))).isEqualTo("PH-KFK-01");
    assertThat(code(new TopicAuthorizationException("orders"))).isEqualTo("PH-KFK-02");
    assertThat(code(GroupAuthorizationException.forGroupId("g"))).isEqualTo("PH-KFK-02");
    assertThat(code(new SaslAuthenticationException("no"))).isEqualTo("PH-KFK-02");
    assertThat(code(new TimeoutException("down"))).isEqualTo("PH-KFK-03");
    assertThat(code(new KafkaException("read", new CorruptRecordException())))
        .isEqualTo("PH-KFK-05");
    assertThat(
            code(
                new KafkaException(
                    "Received exception when fetching the next record from orders-0.",
                    new KafkaException("Record batch for partition orders-0 is invalid"))))
        .isEqualTo("PH-KFK-05");
    assertThat(code(new KafkaException("Encountered corrupt message when fetching offset 7")))
        .isEqualTo("PH-KFK-05");
  }

  private static String code(Throwable failure) {
    return Diagnosis.of(failure).code().text();
  }
}
