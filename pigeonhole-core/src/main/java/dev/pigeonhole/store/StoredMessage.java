package dev.pigeonhole.store;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A message as it lies in the store; see {@link NewMessage} for the fields they share.
 *
 * @param version the version of its deliveries as they are created
 * @param edits handler family → what it gets in the place of the content
 */
public record StoredMessage(
    long seq,
    long version,
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
    Instant receivedAt,
    Map<Integer, EditedContent> edits) {

  /**
   * Whether this is the message of the delivery, and not another one that has got its number since
   * the delivery was read.
   */
  public boolean isOf(Delivery delivery) {
    return seq == delivery.seq() && Versions.ofOneMessage(version, delivery.version());
  }

  /** As it is after retention has dropped the content. */
  public StoredMessage withoutContent() {
    return with(null, contentHash, Map.of());
  }

  /** With the content and the headers that its row was read without. */
  public StoredMessage withBody(byte @Nullable [] itsContent, byte[] itsHeaders) {
    return new StoredMessage(
        seq,
        version,
        source,
        id,
        type,
        channel,
        transport,
        orderingKey,
        itsContent,
        contentType,
        itsHeaders,
        contentHash,
        occurredAt,
        receivedAt,
        edits);
  }

  /** As it is after an operator has edited it. */
  public StoredMessage edited(Map<Integer, EditedContent> byHandler) {
    return with(content, contentHash, Map.copyOf(byHandler));
  }

  /** As this handler gets it. */
  public StoredMessage as(int handler) {
    EditedContent edit = edits.get(handler);
    return edit == null ? this : with(edit.content(), edit.contentHash(), Map.of());
  }

  private StoredMessage with(
      byte @Nullable [] otherContent, byte[] otherHash, Map<Integer, EditedContent> otherEdits) {
    return new StoredMessage(
        seq,
        version,
        source,
        id,
        type,
        channel,
        transport,
        orderingKey,
        otherContent,
        contentType,
        headers,
        otherHash,
        occurredAt,
        receivedAt,
        otherEdits);
  }
}
