package dev.pigeonhole.admin;

import dev.pigeonhole.Headers;
import java.time.Instant;
import java.util.Optional;

/**
 * A second copy with what it carries, to be compared with what {@link InboxAdmin#message} shows of
 * the first.
 *
 * @param headers as they came; they may be as sensitive as the content
 * @param content as it came; empty when there was none
 * @param occurredAt when the producer says it happened
 */
public record ConflictDetail(
    ConflictView view,
    Headers headers,
    Optional<Content> content,
    Optional<String> orderingKey,
    Optional<Instant> occurredAt) {}
