package dev.pigeonhole.event;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Told of everything that happens. Called on the engine's threads, so it should be quick; what it
 * throws is logged and swallowed.
 */
@FunctionalInterface
public interface InboxListener {

  void on(InboxEvent event);

  /** A listener put together from lambdas. */
  static Choice create() {
    return new Choice(List.of());
  }

  /** A listener for some kinds of events. Immutable; each step returns a new one. */
  final class Choice implements InboxListener {
    private record Part<E extends InboxEvent>(Class<E> type, Consumer<? super E> action) {
      void offer(InboxEvent event) {
        if (type.isInstance(event)) {
          action.accept(type.cast(event));
        }
      }
    }

    private final List<Part<?>> parts;

    private Choice(List<Part<?>> parts) {
      this.parts = parts;
    }

    public Choice onAccepted(Consumer<? super InboxEvent.Accepted> action) {
      return with(InboxEvent.Accepted.class, action);
    }

    public Choice onRepeat(Consumer<? super InboxEvent.Repeated> action) {
      return with(InboxEvent.Repeated.class, action);
    }

    public Choice onConflict(Consumer<? super InboxEvent.Conflicted> action) {
      return with(InboxEvent.Conflicted.class, action);
    }

    public Choice onRejected(Consumer<? super InboxEvent.Rejected> action) {
      return with(InboxEvent.Rejected.class, action);
    }

    public Choice onCompleted(Consumer<? super InboxEvent.Completed> action) {
      return with(InboxEvent.Completed.class, action);
    }

    public Choice onFailed(Consumer<? super InboxEvent.Failed> action) {
      return with(InboxEvent.Failed.class, action);
    }

    public Choice onPoisoned(Consumer<? super InboxEvent.Poisoned> action) {
      return with(InboxEvent.Poisoned.class, action);
    }

    public Choice onDirectFailed(Consumer<? super InboxEvent.DirectFailed> action) {
      return with(InboxEvent.DirectFailed.class, action);
    }

    public Choice onReleased(Consumer<? super InboxEvent.Released> action) {
      return with(InboxEvent.Released.class, action);
    }

    /** Any one kind of event, also those without a method of their own. */
    public <E extends InboxEvent> Choice with(Class<E> type, Consumer<? super E> action) {
      List<Part<?>> more = new ArrayList<>(parts);
      more.add(new Part<>(type, action));
      return new Choice(List.copyOf(more));
    }

    @Override
    public void on(InboxEvent event) {
      for (Part<?> part : parts) {
        part.offer(event);
      }
    }
  }
}
