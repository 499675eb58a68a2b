package dev.pigeonhole.event;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Receives all events of an inbox, on the thread that caused them: threads of the engine and
 * threads that accept, several at once. So it must be safe for many threads, and fast. Exceptions
 * that it throws are logged and ignored.
 */
@FunctionalInterface
public interface InboxListener {

  /** Called once for each event. */
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

    /** New messages, once each; not their repeats. */
    public Choice onAccepted(Consumer<? super InboxEvent.Accepted> action) {
      return with(InboxEvent.Accepted.class, action);
    }

    /** Known messages that arrived again. */
    public Choice onRepeat(Consumer<? super InboxEvent.Repeated> action) {
      return with(InboxEvent.Repeated.class, action);
    }

    /** Known identities that arrived with other content or another type, kept or rejected. */
    public Choice onConflict(Consumer<? super InboxEvent.Conflicted> action) {
      return with(InboxEvent.Conflicted.class, action);
    }

    /** Messages that no handler takes, kept or ignored. */
    public Choice onUnhandled(Consumer<? super InboxEvent.Unhandled> action) {
      return with(InboxEvent.Unhandled.class, action);
    }

    /** Messages that came without an id and were given one. */
    public Choice onWithoutId(Consumer<? super InboxEvent.WithoutId> action) {
      return with(InboxEvent.WithoutId.class, action);
    }

    /** Messages that came without the business key of their type and were accepted all the same. */
    public Choice onWithoutKey(Consumer<? super InboxEvent.WithoutKey> action) {
      return with(InboxEvent.WithoutKey.class, action);
    }

    /** Messages that were refused and are not stored. */
    public Choice onRejected(Consumer<? super InboxEvent.Rejected> action) {
      return with(InboxEvent.Rejected.class, action);
    }

    /** Receipts: one for each handler that has finished a message. */
    public Choice onCompleted(Consumer<? super InboxEvent.Completed> action) {
      return with(InboxEvent.Completed.class, action);
    }

    /** Failed attempts with a retry. After the last one {@link #onPoisoned} is called instead. */
    public Choice onFailed(Consumer<? super InboxEvent.Failed> action) {
      return with(InboxEvent.Failed.class, action);
    }

    /**
     * Deliveries that wait for an operator. An alarm needs {@link #onPoisonedUnknown} as well,
     * which is called instead for deliveries that are poisoned because no node has their handler
     * key.
     */
    public Choice onPoisoned(Consumer<? super InboxEvent.Poisoned> action) {
      return with(InboxEvent.Poisoned.class, action);
    }

    /** Messages that retention has deleted, or whose content it has deleted. */
    public Choice onPruned(Consumer<? super InboxEvent.Pruned> action) {
      return with(InboxEvent.Pruned.class, action);
    }

    /** Handlers paused by an operator, or by themselves after too many failures in a row. */
    public Choice onHandlerPaused(Consumer<? super InboxEvent.HandlerPaused> action) {
      return with(InboxEvent.HandlerPaused.class, action);
    }

    /** Handlers that were resumed after a pause. */
    public Choice onHandlerResumed(Consumer<? super InboxEvent.HandlerResumed> action) {
      return with(InboxEvent.HandlerResumed.class, action);
    }

    /**
     * Deliveries that were poisoned, many at once, because no live node has had their handler key
     * for too long. They wait for an operator.
     */
    public Choice onPoisonedUnknown(Consumer<? super InboxEvent.PoisonedUnknown> action) {
      return with(InboxEvent.PoisonedUnknown.class, action);
    }

    /** Failures of direct channels. The library does not retry them; a source may. */
    public Choice onDirectFailed(Consumer<? super InboxEvent.DirectFailed> action) {
      return with(InboxEvent.DirectFailed.class, action);
    }

    /** Attempts cut by a shutdown. */
    public Choice onReleased(Consumer<? super InboxEvent.Released> action) {
      return with(InboxEvent.Released.class, action);
    }

    /** Attempts that an error of the database ended. They do not count and are retried. */
    public Choice onUncounted(Consumer<? super InboxEvent.Uncounted> action) {
      return with(InboxEvent.Uncounted.class, action);
    }

    /** Events of one class, including classes without a method here. */
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
