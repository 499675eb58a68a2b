package dev.pigeonhole.internal.registry;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How long messages are kept after their completion, as a type or a handler wants it for itself.
 *
 * @param receipts null for the inbox's time
 * @param payload null for the inbox's time
 */
public record Keep(@Nullable Duration receipts, @Nullable Duration payload) {
  /** Nothing of its own. */
  public static final Keep AS_INBOX = new Keep(null, null);

  public Keep receipts(Duration time) {
    return new Keep(time, payload);
  }

  public Keep payload(Duration time) {
    return new Keep(receipts, time);
  }
}
