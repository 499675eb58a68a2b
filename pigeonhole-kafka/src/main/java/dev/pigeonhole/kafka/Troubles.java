package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What keeps a source from its work at present, place by place: for the log once a minute, and for
 * whoever asks at any time. Safe for many threads.
 */
final class Troubles {
  private static final Logger LOG = LoggerFactory.getLogger(Troubles.class);

  private final String source;
  private final OncePerMinute log;
  private final Map<String, String> present = new LinkedHashMap<>(); // guarded by this

  Troubles(String source, LongSupplier nanos) {
    this.source = source;
    this.log = new OncePerMinute(nanos);
  }

  /**
   * @param place what is in trouble; it stays so until {@link #over}
   * @param text what is wrong, where, and the way out
   */
  void report(String place, ErrorCode code, String text, @Nullable Throwable cause) {
    String line = OneLine.of(code.text() + ": " + text);
    synchronized (this) {
      present.put(place, line);
    }
    if (log.leftOutBefore(place) >= 0) {
      LOG.warn("Source {} is in trouble: {}", source, line, cause);
    }
  }

  void over(String place) {
    synchronized (this) {
      if (present.remove(place) == null) {
        return;
      }
    }
    LOG.info("Source {} is no longer in trouble with its {}", source, place);
  }

  /** A place that is not ours any more; somebody else has its troubles now. */
  synchronized void forget(String place) {
    present.remove(place);
    log.forget(place);
  }

  synchronized void forgetAll() {
    present.clear();
  }

  synchronized Optional<String> text() {
    return present.isEmpty()
        ? Optional.empty()
        : Optional.of(String.join(System.lineSeparator(), present.values()));
  }
}
