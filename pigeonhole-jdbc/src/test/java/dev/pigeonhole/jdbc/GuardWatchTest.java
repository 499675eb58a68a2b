package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** Runs that hold their transaction for long. */
class GuardWatchTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private GuardRig rig;

  @BeforeEach
  void listen() {
    log.start();
    logger.addAppender(log);
  }

  @AfterEach
  void close() {
    logger.detachAppender(log);
    rig.close();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void longRunsAreWarnedOfAndThatInACallersTransactionIsNotCut(TestDatabase database)
      throws SQLException {
    rig = GuardRig.on(database, options -> options.timeLimit(Duration.ofMillis(300)));
    try (Connection connection = rig.begin()) {
      assertThat(
              rig.guard.run(
                  connection,
                  GuardKey.of("joined", "charge", "k-1"),
                  tx -> {
                    assertThat(tx.timeLeft()).isEmpty();
                    // One timer looks at all runs in turn, and this one begins later: when it is
                    // cut, the time of the joined one is over, too.
                    runUntilCut();
                    GuardRig.write(tx, "k-1");
                    return 1;
                  }))
          .isEqualTo(new Guarded.Ran<>(1));
      connection.commit();
    }

    assertThat(rig.effects("k-1")).isOne();
    assertThat(warnings())
        .containsExactly(
            "The guarded run of joined holds its transaction for more than 50 ms; its locks are in"
                + " the way of others",
            "The guarded run of charge-card holds its transaction for more than 50 ms; its locks"
                + " are in the way of others");
  }

  private void runUntilCut() {
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-2"),
                    tx -> {
                      // Goes on until its connection is taken away, but not for ever.
                      while (tx.timeLeft().orElseThrow().toSeconds() > -60) {
                        GuardRig.write(tx, "k-2");
                      }
                      return null;
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.GUARD_TIME_LIMIT));
  }

  private List<String> warnings() {
    synchronized (log) {
      return log.list.stream()
          .filter(event -> event.getLevel() == Level.WARN)
          .map(ILoggingEvent::getFormattedMessage)
          .filter(text -> text.startsWith("The guarded run"))
          .toList();
    }
  }
}
