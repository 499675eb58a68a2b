package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.util.List;
import java.util.function.UnaryOperator;

/** Accepts into a stored channel, and throws where accepting answers. */
final class ChannelPublisher implements Publisher {
  private final Inbox inbox;
  private final ChannelSpec channel;
  private final InboxStore store;
  private final UnaryOperator<Message> stamp;

  ChannelPublisher(
      Inbox inbox, ChannelSpec channel, InboxStore store, UnaryOperator<Message> stamp) {
    this.inbox = inbox;
    this.channel = channel;
    this.store = store;
    this.stamp = stamp;
  }

  @Override
  public String publish(Connection connection, Message message) {
    return id(inbox.accept(connection, channel.name(), message));
  }

  @Override
  public List<String> publish(Connection connection, List<Message> messages) {
    return messages.size() < 2
        ? stage(connection, messages) // one is staged, or not
        : Publisher.allOrNone(connection, () -> stage(connection, messages));
  }

  private List<String> stage(Connection connection, List<Message> messages) {
    return inbox.accept(connection, channel.name(), messages).stream().map(this::id).toList();
  }

  @Override
  public Message stamped(Message message) {
    return stamp.apply(message);
  }

  private String id(Acceptance answer) {
    if (answer instanceof Acceptance.Accepted accepted) {
      return accepted.message().id();
    }
    if (answer instanceof Acceptance.Repeat repeat) {
      return repeat.message().id();
    }
    if (answer instanceof Acceptance.Conflict conflict) {
      return conflict(conflict);
    }
    if (answer instanceof Acceptance.Rejected rejected) {
      String prefix = rejected.code().text() + ": ";
      String reason = rejected.reason();
      throw new InboxException(
          rejected.code(), reason.startsWith(prefix) ? reason.substring(prefix.length()) : reason);
    }
    throw new InboxException(
        ErrorCode.TYPE_UNHANDLED,
        "Channel '%s' ignores messages of this type, so nobody would get it. Add a handler for it."
            .formatted(channel.name()));
  }

  /** A second copy that is kept is not lost. */
  private String conflict(Acceptance.Conflict conflict) {
    if (channel.onConflict() == OnConflict.REJECT) {
      throw new InboxException(
          ErrorCode.ID_CONFLICT,
          ("%s was published before, with other content. Publish it under an id of its own, or under"
                  + " none.")
              .formatted(Names.shown(conflict.message().toString())));
    }
    return conflict.message().id();
  }

  @Override
  public boolean commitsWith(InboxStore other) {
    return store.sharesTransactionsWith(other);
  }

  @Override
  public void wake() {
    inbox.wake();
  }
}
