package dev.pigeonhole.store;

import dev.pigeonhole.OnConflict;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A message on its way into the store, validated: every length and character has been checked, so
 * what is left to go wrong is the database.
 *
 * @param source where the id is unique, 1 to 250 code points
 * @param id the identity within the source, compared byte for byte
 * @param type the logical type name
 * @param typeNames every name that messages of this type are known under, the oldest last; the name
 *     alone where no type of the channel answers to it
 * @param channel the channel it came in by
 * @param transport how it came in, for people: {@code local}, {@code rabbitmq}, …
 * @param lane the stable hash of ordering key or identity, modulo the inbox's lanes
 * @param keyHash hash of the ordering key, or null for a message without order
 * @param orderingKey the ordering key itself, for people
 * @param content the payload; null and empty are told apart
 * @param contentType the media type of the payload
 * @param headers encoded headers, opaque to the store; empty for none
 * @param contentHash 16 bytes over content type and content, compared for conflicts; all zero where
 *     the content is not known, see {@link #isCopyOf}
 * @param onConflict what to do when the identity is known with another content or type
 * @param occurredAt when the producer says it happened
 * @param notBefore no attempt before this time of the database's clock
 * @param handlers whom it is delivered to; empty keeps the message without deliveries
 * @param place its place among what waits for the same handler, the lowest first, see {@link
 *     Deliveries#placed}; 0 for one that takes its turn by its number. One with an ordering key or
 *     {@code notBefore} has none
 */
public record NewMessage(
    String source,
    String id,
    String type,
    List<String> typeNames,
    String channel,
    String transport,
    int lane,
    @Nullable Long keyHash,
    @Nullable String orderingKey,
    byte @Nullable [] content,
    String contentType,
    byte[] headers,
    byte[] contentHash,
    OnConflict onConflict,
    @Nullable Instant occurredAt,
    @Nullable Instant notBefore,
    List<HandlerId> handlers,
    long place) {

  /** The transport, and the channel, of what only guards have seen. */
  public static final String GUARD = "guard";

  /** The type of what a guard knows by its id alone. */
  public static final String UNKNOWN_TYPE = "message";

  /** The content hash of a message of which nobody has said what it contains. */
  public static byte[] unknownContent() {
    return new byte[16];
  }

  /** The oldest name of its type, which a rename does not change; null if it is stored under it. */
  public @Nullable String oldestType() {
    String oldest = typeNames.get(typeNames.size() - 1);
    return oldest.equals(type) ? null : oldest;
  }

  /**
   * Whether this may be a copy of a stored message: content and type are the same, or the content
   * of one of the two is unknown. A type is the same under every name that this application has for
   * it. A name that only a newer version has is recognized by the oldest name of its type.
   *
   * @param storedOldest see {@link #oldestType}
   */
  public boolean isCopyOf(byte[] storedHash, String storedType, @Nullable String storedOldest) {
    byte[] unknown = unknownContent();
    if (Arrays.equals(storedHash, unknown) || Arrays.equals(contentHash, unknown)) {
      return true;
    }
    return Arrays.equals(storedHash, contentHash)
        && (typeNames.contains(storedType)
            || (storedOldest != null && typeNames.contains(storedOldest)));
  }

  /** The same for another message that may be stored; null matches every message. */
  public boolean isCopyOf(@Nullable NewMessage other) {
    return other == null || isCopyOf(other.contentHash, other.type, other.oldestType());
  }

  /** The same message for these handlers instead. */
  public NewMessage to(List<HandlerId> others) {
    return as(source, id, lane, onConflict, List.copyOf(others));
  }

  /** The same message under another identity, which nobody wants stored. */
  public NewMessage under(String source, String id, int lane, OnConflict onConflict) {
    return as(source, id, lane, onConflict, List.of());
  }

  private NewMessage as(
      String source, String id, int lane, OnConflict onConflict, List<HandlerId> handlers) {
    return new NewMessage(
        source,
        id,
        type,
        typeNames,
        channel,
        transport,
        lane,
        keyHash,
        orderingKey,
        content,
        contentType,
        headers,
        contentHash,
        onConflict,
        occurredAt,
        notBefore,
        handlers,
        place);
  }

  /** As it would be read under this number; the arrays are shared. */
  public StoredMessage stored(long seq, long version, Instant receivedAt) {
    return new StoredMessage(
        seq,
        version,
        source,
        id,
        type,
        channel,
        transport,
        orderingKey,
        content,
        contentType,
        headers,
        contentHash,
        occurredAt,
        receivedAt,
        Map.of());
  }
}
