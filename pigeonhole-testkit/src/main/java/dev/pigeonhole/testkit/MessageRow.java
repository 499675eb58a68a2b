package dev.pigeonhole.testkit;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.Versions;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A stored message. Byte arrays are copied on the way in and on the way out. */
final class MessageRow {
  private final long seq;
  private final long version;
  private final NewMessage message;
  private final Map<Integer, Edit> edits = new HashMap<>();
  private boolean dropped;
  private int repeats;
  private int lives;
  private @Nullable Instant lastRepeatAt;
  private final Instant receivedAt;

  /** The families that have this message in whatever state: the gate. */
  private final Set<Integer> families = new LinkedHashSet<>();

  /** What an operator has put in the place of the content, for one handler. */
  record Edit(EditedContent content, Instant at, String by, String reason) {}

  MessageRow(long seq, long token, NewMessage message, Instant receivedAt) {
    this.seq = seq;
    this.version = Versions.first(token);
    this.message = copy(message);
    this.receivedAt = receivedAt;
  }

  long seq() {
    return seq;
  }

  /** Of its deliveries as they are created. */
  long version() {
    return version;
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

  boolean hasCopy(NewMessage other) {
    return other.isCopyOf(message);
  }

  boolean hasContent() {
    return !dropped && message.content() != null;
  }

  void dropContent() {
    dropped = true;
    edits.clear();
  }

  boolean dropped() {
    return dropped;
  }

  /** Counts a repeat, at most once a second so that a flood of them stays cheap. */
  void repeated(Instant now) {
    Instant last = lastRepeatAt;
    if (last == null || last.plusSeconds(1).isBefore(now)) {
      repeats++;
      lastRepeatAt = now;
    }
  }

  /** The lowest version of another life: no delivery can have had it before. */
  long nextLife() {
    return Versions.ofLife(version, ++lives);
  }

  boolean hasNextLife() {
    return lives < Versions.MOST_LIVES;
  }

  void edit(int handler, Edit edit) {
    edits.put(handler, edit);
  }

  @Nullable Edit edit(int handler) {
    return edits.get(handler);
  }

  /** Gives one of these handlers what was edited for another of them, unless it has its own. */
  void bringEdit(int handler, Collection<Integer> kin) {
    if (edits.containsKey(handler)) {
      return;
    }
    kin.stream()
        .filter(edits::containsKey)
        .max(Comparator.comparing(each -> editedAt(each)))
        .ifPresent(
            newest -> {
              Edit edit = edits.remove(newest);
              if (edit != null) {
                edits.put(handler, edit);
              }
            });
  }

  private Instant editedAt(int handler) {
    Edit edit = edits.get(handler);
    return edit == null ? Instant.MIN : edit.at();
  }

  StoredMessage stored() {
    StoredMessage stored = copy(message).stored(seq, version, receivedAt);
    if (dropped) {
      return stored.withoutContent();
    }
    Map<Integer, EditedContent> contents = new HashMap<>();
    edits.forEach((handler, edit) -> contents.put(handler, edit.content()));
    return stored.edited(contents);
  }

  MessageView view() {
    byte[] content = dropped ? null : message.content();
    return new MessageView(
        ref(),
        message.type(),
        message.channel(),
        message.transport(),
        Optional.ofNullable(message.orderingKey()),
        Optional.ofNullable(content).map(bytes -> (long) bytes.length),
        receivedAt,
        repeats,
        Optional.ofNullable(lastRepeatAt));
  }

  /** The message with arrays of its own. */
  static NewMessage copy(NewMessage message) {
    return new NewMessage(
        message.source(),
        message.id(),
        message.type(),
        message.typeNames(),
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
        message.handlers(),
        message.place());
  }

  private static byte @Nullable [] copy(byte @Nullable [] bytes) {
    return bytes == null ? null : bytes.clone();
  }
}
