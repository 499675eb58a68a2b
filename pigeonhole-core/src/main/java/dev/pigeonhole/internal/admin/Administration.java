package dev.pigeonhole.internal.admin;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.internal.registry.Lookalikes;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import java.util.Collection;
import java.util.List;

/**
 * A store, and who works on it. Whatever comes from people is checked here.
 *
 * @param sleeper for changes that keep to a rate
 */
record Administration(InboxStore store, String actor, Sleeper sleeper) {
  private static final int LONGEST_ACTOR = 200;
  private static final int LONGEST_REASON = 2_000;

  Administration {
    if (!Names.isText(actor, LONGEST_ACTOR)) {
      throw new InboxException(
          ErrorCode.ACTOR_OR_REASON_INVALID,
          "Somebody who changes things needs a name of 1 to %d characters, and '%s' is none."
              .formatted(LONGEST_ACTOR, Names.shown(actor)));
    }
  }

  Administration as(String other) {
    return new Administration(store, other, sleeper);
  }

  AdminQueries queries() {
    return store.admin();
  }

  /** What goes into the audit; an empty reason tells nobody anything. */
  static String checked(String reason) {
    String plain = reason.replace("\r\n", " ").replace('\n', ' ').replace('\t', ' ').strip();
    if (!Names.isText(plain, LONGEST_REASON)) {
      throw new InboxException(
          ErrorCode.ACTOR_OR_REASON_INVALID,
          "A change needs a reason of 1 to %,d characters, and '%s' is none."
              .formatted(LONGEST_REASON, Names.shown(reason)));
    }
    return plain;
  }

  /** A key that was registered once. Nothing about a slip would look like good news. */
  HandlerId handler(String key) {
    Collection<HandlerId> known = store.maintenance().handlers();
    return known.stream()
        .filter(each -> each.key().equals(key))
        .findFirst()
        .orElseThrow(() -> unknown(key, known.stream().map(HandlerId::key).toList()));
  }

  private static InboxException unknown(String handler, List<String> known) {
    String nearest = Lookalikes.nearest(known, handler);
    return new InboxException(
        ErrorCode.HANDLER_KEY_UNKNOWN,
        "No handler was ever registered with the key '%s'. %s"
            .formatted(
                Names.shown(handler),
                nearest == null
                    ? "There are: " + String.join(", ", known) + "."
                    : "Did you mean '" + nearest + "'?"));
  }
}
