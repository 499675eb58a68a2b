package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.NewMessage;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs conflicts: messages that came under a known id with other content or another type. A sender
 * whose ids start from one again after each start causes a conflict with every message, so the
 * number of lines is limited.
 */
public final class ConflictLog {
  private static final Logger LOG = LoggerFactory.getLogger(ConflictLog.class);

  private final String inbox;
  private final LogLimit limit = new LogLimit(20, Duration.ofSeconds(1));

  public ConflictLog(String inbox) {
    this.inbox = inbox;
  }

  /** Logs what happens to the second copy, without the content of either. */
  public void tell(NewMessage second, MessageRef ref) {
    int leftOut = limit.leftOutBefore(System.nanoTime());
    if (leftOut < 0) {
      return;
    }
    LOG.atWarn()
        .addKeyValue("pigeonhole.event", "conflict")
        .addKeyValue(LogContext.INBOX, inbox)
        .addKeyValue("pigeonhole.channel", second.channel())
        .addKeyValue(LogContext.MESSAGE, Names.shown(second.id()))
        .addKeyValue("pigeonhole.code", ErrorCode.ID_CONFLICT.text())
        .log(
            "{} Conflict: {} of channel '{}' in inbox {} arrived again with other content or another"
                + " type; the second copy is {}. Find the producer that used the id twice.{}",
            ErrorCode.ID_CONFLICT.text(),
            Names.shown(ref.toString()),
            second.channel(),
            inbox,
            second.onConflict() == OnConflict.KEEP
                ? "kept until an operator decides"
                : "rejected, and not kept",
            leftOut == 0 ? "" : " (" + leftOut + " conflicts before this one were not logged)");
  }
}
