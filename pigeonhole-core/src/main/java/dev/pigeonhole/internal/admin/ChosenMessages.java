package dev.pigeonhole.internal.admin;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.MessageSelection;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.Page;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.Slice;
import java.time.Instant;
import java.util.List;

/** Messages, chosen by what they have in common. */
final class ChosenMessages implements MessageSelection {
  private final Administration admin;
  private final Words words;

  ChosenMessages(Administration admin) {
    this(admin, Words.NONE);
  }

  private ChosenMessages(Administration admin, Words words) {
    this.admin = admin;
    this.words = words;
  }

  private ChosenMessages with(Words.Word word, String value) {
    return new ChosenMessages(admin, words.with(word, value));
  }

  @Override
  public MessageSelection unhandled() {
    return with(Words.Word.UNHANDLED, "yes");
  }

  @Override
  public MessageSelection type(String name) {
    return with(Words.Word.TYPE, name);
  }

  @Override
  public MessageSelection channel(String name) {
    return with(Words.Word.CHANNEL, name);
  }

  @Override
  public MessageSelection source(String source) {
    return with(Words.Word.SOURCE, source);
  }

  @Override
  public MessageSelection id(String id) {
    return with(Words.Word.ID, id);
  }

  @Override
  public MessageSelection receivedFrom(Instant time) {
    return new ChosenMessages(admin, words.with(Words.Word.RECEIVED_FROM, time));
  }

  @Override
  public MessageSelection receivedBefore(Instant time) {
    return new ChosenMessages(admin, words.with(Words.Word.RECEIVED_BEFORE, time));
  }

  private MessageFilter filter() {
    return new MessageFilter(
        words.has(Words.Word.UNHANDLED),
        words.get(Words.Word.TYPE),
        words.get(Words.Word.CHANNEL),
        words.get(Words.Word.SOURCE),
        words.get(Words.Word.ID),
        words.time(Words.Word.RECEIVED_FROM),
        words.time(Words.Word.RECEIVED_BEFORE));
  }

  @Override
  public Page<MessageView> first(int size) {
    return Cursors.page(null, size, slice -> admin.queries().messages(filter(), slice));
  }

  @Override
  public Page<MessageView> after(String next, int size) {
    return Cursors.page(next, size, slice -> admin.queries().messages(filter(), slice));
  }

  @Override
  public Count count() {
    return Count.upTo(Count.MOST, admin.queries().count(filter(), Count.MOST + 1));
  }

  @Override
  public BulkChange replay(String handler, String reason) {
    return change(
        new AdminChange(
            Action.REPLAY, admin.handler(handler), admin.actor(), Administration.checked(reason)),
        "replay to '" + handler + "' messages with ");
  }

  @Override
  public BulkChange purge(String reason) {
    return change(
        new AdminChange(Action.PURGE, null, admin.actor(), Administration.checked(reason)),
        "purge messages with ");
  }

  private BulkChange change(AdminChange change, String what) {
    MessageFilter filter = filter();
    return new ChangeOfMany(
        admin,
        change,
        what + words,
        words.narrow(),
        new ChangeOfMany.Choice() {
          @Override
          public List<Listed<MessageRef>> next(Slice slice) {
            return admin.queries().messages(filter, slice).stream()
                .map(each -> new Listed<>(each.place(), each.view().message()))
                .toList();
          }

          @Override
          public long count(int most) {
            return admin.queries().count(filter, most);
          }
        });
  }
}
