package dev.pigeonhole;

import java.time.Instant;
import java.util.Optional;

/**
 * A message that is about to be deleted.
 *
 * @param type its logical name
 * @param content empty for a missing body, and where it was dropped before
 */
public record PrunedMessage(
    MessageRef message,
    String type,
    String channel,
    Instant receivedAt,
    String contentType,
    Optional<byte[]> content,
    Headers headers) {}
