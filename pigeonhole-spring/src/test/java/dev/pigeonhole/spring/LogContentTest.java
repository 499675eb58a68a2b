package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Message;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Whatever becomes of a message, its content stays out of the log. */
class LogContentTest {
  @Test
  void sc15_e27_nothingOfAMessageIsLogged() {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Logger root = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
    Level usual = root.getLevel();
    root.setLevel(Level.TRACE);
    root.addAppender(log);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, HandlerTransactionTest.Writing.class)
          .start();
      for (int number = 1; number <= 2; number++) {
        OrderPlaced order = new OrderPlaced("o-" + number, "canary");
        world.inbox().accept("orders", Message.of("m-" + number, order).header("h", "canary"));
      }
      world.inbox().drain();

      assertThat(world.notes()).isEqualTo(1);
      assertThat(log.list).isNotEmpty();
      assertThat(log.list)
          .extracting(event -> event.getFormattedMessage() + event.getThrowableProxy())
          .noneMatch(line -> line.contains("canary"));
    } finally {
      root.detachAppender(log);
      root.setLevel(usual);
    }
  }
}
