package dev.pigeonhole;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/** What the library warns of during a test. */
final class Warnings implements BeforeEachCallback, AfterEachCallback {
  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();

  @Override
  public void beforeEach(ExtensionContext context) {
    log.start();
    logger.addAppender(log);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    logger.detachAppender(log);
  }

  List<ILoggingEvent> events() {
    return events(Level.WARN);
  }

  List<ILoggingEvent> events(Level level) {
    return log.list.stream().filter(event -> event.getLevel() == level).toList();
  }

  List<String> texts() {
    return events().stream().map(ILoggingEvent::getFormattedMessage).toList();
  }
}
