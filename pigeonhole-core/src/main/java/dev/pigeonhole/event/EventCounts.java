package dev.pigeonhole.event;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what an inbox tells on this node, by kind of event and by the channel or handler it speaks
 * of. Give one to {@code InboxBuilder.listener} and read it wherever you show numbers. What a
 * channel does with odd messages is one policy, so its count of {@link InboxEvent.Unhandled} is the
 * number it has kept, or else ignored.
 */
public final class EventCounts implements InboxListener {
  private record Counted(Class<? extends InboxEvent> kind, String where) {}

  private final Map<Counted, LongAdder> counts = new ConcurrentHashMap<>();

  /** One that has counted nothing yet. */
  public static EventCounts create() {
    return new EventCounts();
  }

  private EventCounts() {}

  @Override
  public void on(InboxEvent event) {
    counts
        .computeIfAbsent(new Counted(event.getClass(), where(event)), key -> new LongAdder())
        .increment();
  }

  private static String where(InboxEvent event) {
    if (event instanceof InboxEvent.OfHandler ofHandler) {
      return ofHandler.handler();
    }
    return event instanceof InboxEvent.OfChannel ofChannel ? ofChannel.channel() : "";
  }

  /** How many events of this kind there were. */
  public long of(Class<? extends InboxEvent> kind) {
    return counts.entrySet().stream()
        .filter(each -> each.getKey().kind() == kind)
        .mapToLong(each -> each.getValue().sum())
        .sum();
  }

  /** How many events of this kind spoke of this channel or handler. */
  public long of(Class<? extends InboxEvent> kind, String channelOrHandler) {
    LongAdder count = counts.get(new Counted(kind, channelOrHandler));
    return count == null ? 0 : count.sum();
  }
}
