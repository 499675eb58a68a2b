package dev.pigeonhole.admin;

import dev.pigeonhole.MessageRef;
import java.time.Instant;
import java.util.Optional;

/**
 * A second copy of a known message with other content, kept for somebody to look at.
 *
 * @param conflict its number, for {@link InboxAdmin#dismissConflict} and {@link
 *     InboxAdmin#acceptConflict}
 * @param message the identity that both copies claim
 * @param bytes the size of its content
 * @param acceptedAs the id under which somebody has begun to accept it; whoever goes on takes the
 *     same
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
