package dev.pigeonhole.testkit;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoredMessage;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A stored message. Byte arrays are copied on the way in and on the way out. */
final class MessageRow {
  private final long seq;
  private final NewMessage message;
  private boolean dropped;
  private final Instant receivedAt;

  /** The families that have this message in whatever state: the gate. */
  private final Set<Integer> families = new LinkedHashSet<>();

  MessageRow(long seq, NewMessage message, Instant receivedAt) {
    this.seq = seq;
    this.message = copy(message);
    this.receivedAt = receivedAt;
  }

  long seq() {
    return seq;
  }

  int lane() {
    return message.lane();
  }

  @Nullable Long keyHash() {
    return message.keyHash();
  }

  Instant receivedAt() {
    return receivedAt;
  }

  Set<Integer> families() {
    return families;
  }

  MessageRef ref() {
    return new MessageRef(message.source(), message.id());
  }

  boolean sameContent(NewMessage other) {
    return Arrays.equals(message.contentHash(), other.contentHash());
  }

  boolean hasContent() {
    return !dropped && message.content() != null;
  }

  void dropContent() {
    dropped = true;
  }

  StoredMessage stored() {
    StoredMessage stored = copy(message).stored(seq, receivedAt);
    return dropped ? stored.withoutContent() : stored;
  }

  /** The message with arrays of its own. */
  static NewMessage copy(NewMessage message) {
    return new NewMessage(
        message.source(),
        message.id(),
        message.type(),
        message.channel(),
        message.transport(),
        message.lane(),
        message.keyHash(),
        message.orderingKey(),
        copy(message.content()),
        message.contentType(),
        message.headers().clone(),
        message.contentHash().clone(),
        message.onConflict(),
        message.occurredAt(),
        message.notBefore(),
        message.handlers());
  }

  private static byte @Nullable [] copy(byte @Nullable [] bytes) {
    return bytes == null ? null : bytes.clone();
  }
}
