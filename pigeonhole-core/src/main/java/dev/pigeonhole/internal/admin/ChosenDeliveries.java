package dev.pigeonhole.internal.admin;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliverySelection;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.FailureGroup;
import dev.pigeonhole.admin.Page;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.Slice;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Deliveries, chosen by what they have in common. */
final class ChosenDeliveries implements DeliverySelection {
  private final Administration admin;
  private final Words words;
  private final @Nullable DeliveryState state;
  private final @Nullable Integer family;

  ChosenDeliveries(Administration admin) {
    this(admin, Words.NONE, null, null);
  }

  private ChosenDeliveries(
      Administration admin, Words words, @Nullable DeliveryState state, @Nullable Integer family) {
    this.admin = admin;
    this.words = words;
    this.state = state;
    this.family = family;
  }

  private ChosenDeliveries with(Words more) {
    return new ChosenDeliveries(admin, more, state, family);
  }

  @Override
  public DeliverySelection in(DeliveryState wanted) {
    return new ChosenDeliveries(admin, words, wanted, family);
  }

  @Override
  public DeliverySelection handler(String key) {
    return new ChosenDeliveries(
        admin, words.with(Words.Word.HANDLER, key), state, admin.handler(key).family());
  }

  @Override
  public DeliverySelection type(String name) {
    return with(words.with(Words.Word.TYPE, name));
  }

  @Override
  public DeliverySelection channel(String name) {
    return with(words.with(Words.Word.CHANNEL, name));
  }

  @Override
  public DeliverySelection source(String source) {
    return with(words.with(Words.Word.SOURCE, source));
  }

  @Override
  public DeliverySelection id(String id) {
    return with(words.with(Words.Word.ID, id));
  }

  @Override
  public DeliverySelection receivedFrom(Instant time) {
    return with(words.with(Words.Word.RECEIVED_FROM, time));
  }

  @Override
  public DeliverySelection receivedBefore(Instant time) {
    return with(words.with(Words.Word.RECEIVED_BEFORE, time));
  }

  @Override
  public DeliverySelection failedWith(String fingerprint) {
    return with(words.with(Words.Word.FINGERPRINT, fingerprint));
  }

  private DeliveryFilter filter(@Nullable DeliveryState seen, Standings standings) {
    Set<Integer> asked = family == null ? null : admin.queries().kin(family);
    return new DeliveryFilter(
        Standings.rows(seen),
        standings.families(seen, asked),
        words.get(Words.Word.TYPE),
        words.get(Words.Word.CHANNEL),
        words.get(Words.Word.SOURCE),
        words.get(Words.Word.ID),
        words.time(Words.Word.RECEIVED_FROM),
        words.time(Words.Word.RECEIVED_BEFORE),
        words.get(Words.Word.FINGERPRINT));
  }

  private static boolean nobody(DeliveryFilter filter) {
    Set<Integer> handlers = filter.handlers();
    return handlers != null && handlers.isEmpty();
  }

  @Override
  public Page<DeliveryView> first(int size) {
    return page(null, size);
  }

  @Override
  public Page<DeliveryView> after(String next, int size) {
    return page(next, size);
  }

  private Page<DeliveryView> page(@Nullable String next, int size) {
    Standings standings = new Standings(admin.store());
    DeliveryFilter filter = filter(state, standings);
    return Cursors.page(
        next,
        size,
        slice ->
            nobody(filter)
                ? List.of()
                : admin.queries().deliveries(filter, slice).stream()
                    .map(each -> new Listed<>(each.place(), standings.seen(each.view())))
                    .toList());
  }

  @Override
  public Count count() {
    DeliveryFilter filter = filter(state, new Standings(admin.store()));
    return nobody(filter)
        ? Count.of(0)
        : Count.upTo(Count.MOST, admin.queries().count(filter, Count.MOST + 1));
  }

  @Override
  public List<FailureGroup> failureGroups() {
    return FailureGroups.of(
        admin.queries().failures(poisonedOnly("grouped by failure"), Count.MOST + 1), Count.MOST);
  }

  @Override
  public BulkChange retry(String reason) {
    return change(Action.RETRY, reason);
  }

  @Override
  public BulkChange complete(String reason) {
    return change(Action.COMPLETE, reason);
  }

  @Override
  public BulkChange discard(String reason) {
    return change(Action.DISCARD, reason);
  }

  private BulkChange change(Action action, String reason) {
    String verb = action.name().toLowerCase(Locale.ROOT);
    AdminChange change =
        new AdminChange(action, null, admin.actor(), Administration.checked(reason));
    DeliveryFilter filter = poisonedOnly("changed by " + verb);
    return new ChangeOfMany(
        admin,
        change,
        verb + " poisoned deliveries with " + words,
        words.narrow(),
        new ChangeOfMany.Choice() {
          @Override
          public List<Listed<MessageRef>> next(Slice slice) {
            return admin.queries().named(filter, slice);
          }

          @Override
          public long count(int most) {
            return admin.queries().count(filter, most);
          }
        });
  }

  private DeliveryFilter poisonedOnly(String what) {
    if (state != null && state != DeliveryState.POISONED) {
      throw new InboxException(
          ErrorCode.SELECTION_INVALID,
          "Only poisoned deliveries can be %s, and these are %s. Choose them with poisoned()."
              .formatted(what, state));
    }
    return filter(DeliveryState.POISONED, new Standings(admin.store()));
  }
}
