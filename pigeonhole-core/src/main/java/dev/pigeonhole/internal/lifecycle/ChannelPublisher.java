package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** Accepts into a stored channel, and throws where accepting answers. */
final class ChannelPublisher implements Publisher {
  /** Stores nothing of what no handler would get. */
  interface Accepting {
    List<Acceptance> accept(Connection connection, List<Message> messages);
  }

  private final Inbox inbox;
  private final String channel;
  private final Accepting accepting;
  private final InboxStore store;
  private final UnaryOperator<Message> stamp;

  ChannelPublisher(
      Inbox inbox,
      String channel,
      Accepting accepting,
      InboxStore store,
      UnaryOperator<Message> stamp) {
    this.inbox = inbox;
    this.channel = channel;
    this.accepting = accepting;
    this.store = store;
    this.stamp = stamp;
  }

  @Override
  public String publish(Connection connection, Message message) {
    return stage(connection, List.of(message)).get(0);
  }

  @Override
  public List<String> publish(Connection connection, List<Message> messages) {
    return messages.size() < 2
        ? stage(connection, messages) // one is staged, or not
        : Publisher.allOrNone(connection, () -> stage(connection, messages));
  }

  private List<String> stage(Connection connection, List<Message> messages) {
    List<Acceptance> answers = accepting.accept(connection, messages);
    List<String> ids = new ArrayList<>(messages.size());
    for (int i = 0; i < messages.size(); i++) {
      ids.add(id(messages.get(i), answers.get(i)));
    }
    return ids;
  }

  @Override
  public Message stamped(Message message) {
    return stamp.apply(message);
  }

  private String id(Message message, Acceptance answer) {
    if (answer instanceof Acceptance.Accepted accepted) {
      return accepted.message().id();
    }
    if (answer instanceof Acceptance.Repeat repeat) {
      return repeat.message().id();
    }
    if (answer instanceof Acceptance.Conflict conflict) {
      throw new InboxException(
          ErrorCode.ID_CONFLICT,
          ("%s was published before, with other content or another type. Publish it under an id of its own, or under"
                  + " none.")
              .formatted(Names.shown(conflict.message().toString())));
    }
    if (answer instanceof Acceptance.Rejected rejected) {
      throw refused(message, rejected);
    }
    throw new IllegalStateException("a channel that stores all it takes answered " + answer);
  }

  private InboxException refused(Message message, Acceptance.Rejected rejected) {
    if (rejected.code() == ErrorCode.TYPE_UNHANDLED) {
      // What the channel does with what others send is no way out here.
      return new InboxException(
          rejected.code(),
          ("Channel '%s' has no handler for messages of type '%s', so nobody would get it. Add one,"
                  + " or correct the type.")
              .formatted(channel, Names.shown(typeOf(message))));
    }
    String prefix = rejected.code().text() + ": ";
    String reason = rejected.reason();
    return new InboxException(
        rejected.code(), reason.startsWith(prefix) ? reason.substring(prefix.length()) : reason);
  }

  private static String typeOf(Message message) {
    Object payload = message.payload();
    return message
        .type()
        .orElseGet(() -> payload == null ? "null" : payload.getClass().getSimpleName());
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
