package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells listeners what happened. A listener that throws harms nobody but itself. */
public final class Events {
  private static final Logger LOG = LoggerFactory.getLogger(Events.class);

  private final String inbox;
  private final List<InboxListener> listeners;

  public Events(String inbox, List<InboxListener> listeners) {
    this.inbox = inbox;
    this.listeners = listeners;
  }

  public String inbox() {
    return inbox;
  }

  /** Lets hot paths skip building events that nobody hears. */
  public boolean silent() {
    return listeners.isEmpty();
  }

  /** Tells that the body of a guard, or the store under it, failed. */
  public void guardFailed(String handler, MessageRef message, Throwable cause, Duration took) {
    if (!silent()) {
      Failure failure = Failures.of(cause, Instant.now());
      tell(new InboxEvent.GuardFailed(inbox, handler, message, failure, took));
    }
  }

  public void tell(InboxEvent event) {
    for (InboxListener listener : listeners) {
      try {
        listener.on(event);
      } catch (OutOfMemoryError e) {
        throw e;
      } catch (Throwable e) {
        LOG.warn("A listener failed on {}; it is ignored", event.getClass().getSimpleName(), e);
      }
    }
  }
}
