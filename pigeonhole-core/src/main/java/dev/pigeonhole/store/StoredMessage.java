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
    Instant receivedAt) {

  /** As it is after retention has dropped the content. */
  public StoredMessage withoutContent() {
    return new StoredMessage(
        seq,
        source,
        id,
        type,
        channel,
        transport,
        orderingKey,
        null,
        contentType,
        headers,
        contentHash,
        occurredAt,
        receivedAt);
  }
}
