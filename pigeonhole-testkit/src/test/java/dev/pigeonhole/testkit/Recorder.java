package dev.pigeonhole.testkit;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Remembers every event. */
final class Recorder implements InboxListener {
  private final List<InboxEvent> events = new CopyOnWriteArrayList<>();

  @Override
  public void on(InboxEvent event) {
    events.add(event);
  }

  <E extends InboxEvent> List<E> of(Class<E> type) {
    return events.stream().filter(type::isInstance).map(type::cast).toList();
  }

  <E extends InboxEvent> boolean heard(Class<E> type) {
    return !of(type).isEmpty();
  }
}
