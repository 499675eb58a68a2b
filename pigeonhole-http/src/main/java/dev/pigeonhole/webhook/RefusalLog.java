package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the log what a webhook does not take, and why: once a minute for each reason, so that
 * nobody can fill a disk by sending rubbish. Safe for many threads.
 */
final class RefusalLog {
  private static final Logger LOG = LoggerFactory.getLogger(RefusalLog.class);
  private static final Duration STRETCH = Duration.ofMinutes(1);
  private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]+");
  private static final int LONGEST = 500;

  private record Last(Instant at, int leftOut) {}

  private final String path;
  private final InstantSource clock;
  private final Map<ErrorCode, Last> last = new HashMap<>(); // guarded by this

  RefusalLog(String path, InstantSource clock) {
    this.path = path;
    this.clock = clock;
  }

  /**
   * @param reason begins with the code; the text of a handler's exception may be in it
   */
  void refused(ErrorCode code, String reason) {
    int leftOut = leftOutBefore(code);
    if (leftOut >= 0) {
      LOG.warn("Webhook {} did not take a request: {}{}", path, oneLine(reason), more(leftOut));
    }
  }

  /** Nobody knows whether it was accepted. */
  void failed(RuntimeException cause) {
    int leftOut = leftOutBefore(ErrorCode.REQUEST_NOT_NOW);
    if (leftOut >= 0) {
      LOG.warn("Webhook {} could not accept a message{}", path, more(leftOut), cause);
    }
  }

  /** How many lines were left out before this one, or -1 if this one is to be left out, too. */
  private synchronized int leftOutBefore(ErrorCode code) {
    Instant now = clock.instant();
    Last before = last.get(code);
    if (before != null && Duration.between(before.at, now).abs().compareTo(STRETCH) < 0) {
      last.put(code, new Last(before.at, before.leftOut + 1));
      return -1;
    }
    last.put(code, new Last(now, 0));
    return before == null ? 0 : before.leftOut;
  }

  private static String oneLine(String reason) {
    String line = CONTROL.matcher(reason).replaceAll(" ");
    return line.length() > LONGEST ? line.substring(0, LONGEST) + "…" : line;
  }

  private static String more(int leftOut) {
    return leftOut == 0 ? "" : " (and " + leftOut + " more since the last line)";
  }
}
