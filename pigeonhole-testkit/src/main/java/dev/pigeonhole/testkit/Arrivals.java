package dev.pigeonhole.testkit;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What an inbox was given: stores are asked by identity, and somebody must know whom to ask for.
 */
final class Arrivals implements InboxListener {
  private final Set<MessageRef> messages = new LinkedHashSet<>();
  private final List<String> rejected = new ArrayList<>();

  @Override
  public synchronized void on(InboxEvent event) {
    if (event instanceof InboxEvent.Accepted accepted) {
      messages.add(accepted.message());
    } else if (event instanceof InboxEvent.Repeated repeated) {
      messages.add(repeated.message()); // another node on this store may have accepted it first
    } else if (event instanceof InboxEvent.Rejected refused) {
      rejected.add(refused.reason());
    }
  }

  synchronized List<MessageRef> messages() {
    return List.copyOf(messages);
  }

  synchronized List<String> rejected() {
    return List.copyOf(rejected);
  }
}
