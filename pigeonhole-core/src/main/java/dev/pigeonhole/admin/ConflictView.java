package dev.pigeonhole.admin;

import dev.pigeonhole.MessageRef;
import java.time.Instant;
import java.util.Optional;

/**
 * A conflict: a second copy of a known message with other content or another type, kept for an
 * operator.
 *
 * @param conflict its number, for {@link InboxAdmin#dismissConflict} and {@link
 *     InboxAdmin#acceptConflict}
 * @param message the identity that both copies claim
 * @param bytes the size of its content
 * @param acceptedAs the id under which an operator has begun to accept it; the next call must use
 *     the same id
 */
public record ConflictView(
    long conflict,
    MessageRef message,
    String type,
    String channel,
    String transport,
    String contentType,
    long bytes,
    Instant receivedAt,
    Optional<String> acceptedAs) {}
