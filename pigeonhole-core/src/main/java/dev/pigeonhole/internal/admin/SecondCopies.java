package dev.pigeonhole.internal.admin;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.SecondCopy;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BiFunction;

/**
 * Accepts second copies. Accepting has commits of its own, so a copy is claimed for its new id
 * before and deleted behind it: nobody can accept it under another id meanwhile, and where a
 * process dies in between, somebody can do the rest under the same one.
 */
final class SecondCopies {
  private final Administration admin;
  private final BiFunction<String, Message, Acceptance> accepting;

  /**
   * @param accepting channel and message → what became of it
   */
  SecondCopies(Administration admin, BiFunction<String, Message, Acceptance> accepting) {
    this.admin = admin;
    this.accepting = accepting;
  }

  /** What became of it; empty if it is gone. */
  Optional<Acceptance> accept(long conflict, String newId, String reason) {
    Optional<SecondCopy> copy = queries().conflict(conflict);
    if (copy.isEmpty()) {
      return Optional.empty();
    }
    Message message = message(copy.get(), newId);
    return queries()
        .claimConflict(conflict, newId, admin.actor(), "as '%s': %s".formatted(newId, reason))
        .map(
            claimed ->
                claimed.equals(newId)
                    ? acceptClaimed(copy.get(), message, newId)
                    : taken(conflict, claimed));
  }

  private AdminQueries queries() {
    return admin.queries();
  }

  private static Message message(SecondCopy copy, String newId) {
    ConflictView view = copy.view();
    Message message =
        Message.encoded(newId, view.type(), copy.content(), view.contentType())
            .from(view.message().source())
            .transport(view.transport())
            .headers(HeaderFormat.decode(copy.headers()));
    if (copy.orderingKey() != null) {
      message = message.orderedBy(copy.orderingKey());
    }
    if (copy.occurredAt() != null) {
      message = message.occurredAt(copy.occurredAt());
    }
    return message;
  }

  private static Acceptance taken(long conflict, String claimed) {
    return new Acceptance.Rejected(
        ErrorCode.CONFLICT_TAKEN,
        ("Somebody has begun to accept conflict %d as '%s'. If that was not finished, accept it under"
                + " the same id.")
            .formatted(conflict, Names.shown(claimed)));
  }

  private Acceptance acceptClaimed(SecondCopy copy, Message message, String newId) {
    long conflict = copy.view().conflict();
    Acceptance answer;
    try {
      answer = compared(copy, accepting.apply(copy.view().channel(), message));
    } catch (InboxException e) {
      if (e.code() == ErrorCode.CHANNEL_UNKNOWN) { // of others nobody knows what they have left
        unclaim(conflict, newId, e.code().text());
      }
      throw e;
    }
    if (answer instanceof Acceptance.Accepted || answer instanceof Acceptance.Repeat) {
      queries().finishConflict(conflict, newId);
    } else {
      unclaim(conflict, newId, answer.getClass().getSimpleName());
    }
    return answer;
  }

  private void unclaim(long conflict, String newId, String answer) {
    queries()
        .unclaimConflict(
            conflict, newId, admin.actor(), "as '%s': the answer was %s".formatted(newId, answer));
  }

  /** A repeat may not have been compared; the copy is only known if its content is. */
  private Acceptance compared(SecondCopy copy, Acceptance answer) {
    if (!(answer instanceof Acceptance.Repeat repeat)) {
      return answer;
    }
    MessageRef known = repeat.message();
    byte[] hash = Hashes.content(copy.view().contentType(), copy.content());
    boolean same =
        queries()
            .message(known.source(), known.id())
            .map(state -> Arrays.equals(state.message().contentHash(), hash))
            .orElse(false);
    return same ? answer : new Acceptance.Conflict(known);
  }
}
