package dev.pigeonhole.store;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A message as it lies in the store; see {@link NewMessage} for the fields they share. */
public record StoredMessage(
    long seq,
    String source,
    String id,
    String type,
    String channel,
    String transport,
    @Nullable String orderingKey,
    byte @Nullable [] content,
    String contentType,
    byte[] headers,
    byte[] contentHash,
    @Nullable Instant occurredAt,
    Instant receivedAt) {}
