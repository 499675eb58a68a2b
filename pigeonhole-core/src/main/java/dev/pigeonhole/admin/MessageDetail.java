package dev.pigeonhole.admin;

import dev.pigeonhole.Failure;
import dev.pigeonhole.Headers;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * All that is known of one message.
 *
 * @param lane where its deliveries stand
 * @param headers as they came; they may be as sensitive as the content
 * @param content as it came; empty when retention has dropped it, or there was none
 * @param occurredAt when the producer says it happened
 * @param deliveries one for each handler that took it
 * @param conflicts second copies with other content or another type that wait for an operator
 */
public record MessageDetail(
    MessageView message,
    int lane,
    Headers headers,
    Optional<Content> content,
    Optional<Instant> occurredAt,
    List<Delivery> deliveries,
    List<ConflictView> conflicts) {

  /**
   * What became of the message at one handler.
   *
   * @param failures the newest ten failures, the newest first
   * @param edit what an operator has put in the place of the content, for this handler alone
   */
  public record Delivery(DeliveryView view, List<Failure> failures, Optional<Edit> edit) {}

  /** Content that an operator has put in the place of what came. */
  public record Edit(Content content, Instant at, String by, String reason) {}
}
