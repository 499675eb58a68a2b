package dev.pigeonhole.internal.registry;

import dev.pigeonhole.OnConflict;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A message type of a channel as it was declared.
 *
 * @param name the logical name that new messages are stored under
 * @param formerNames names that stored messages may still carry
 * @param businessKey selects the identity; null for the message's own id
 * @param orderingKey selects the ordering key; null for the message's own
 */
public record TypeSpec(
    Class<?> type,
    String name,
    List<String> formerNames,
    @Nullable Function<Object, @Nullable String> businessKey,
    @Nullable Function<Object, @Nullable String> orderingKey,
    List<HandlerSpec> handlers) {

  /** Whether a stored message of this logical name is one of these. */
  public boolean answersTo(String logicalName) {
    return name.equals(logicalName) || formerNames.contains(logicalName);
  }

  /** With a business key the identity alone decides; a republished message differs in its bytes. */
  public OnConflict onConflict(OnConflict channels) {
    return businessKey == null ? channels : OnConflict.REPEAT;
  }
}
