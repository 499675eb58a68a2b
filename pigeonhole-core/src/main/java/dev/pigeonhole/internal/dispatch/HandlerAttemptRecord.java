package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Interceptor;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** One attempt of one handler, for Java Flight Recorder. */
@Name("pigeonhole.HandlerAttempt")
@Label("Handler Attempt")
@Category("Pigeonhole")
@Description("One attempt of one handler, until it was decided how it ends")
@StackTrace(false)
@SuppressWarnings("unused") // the recorder reads the fields
final class HandlerAttemptRecord extends Event {
  @Label("Inbox")
  private @Nullable String inbox;

  @Label("Handler Key")
  private @Nullable String handler;

  @Label("Message Type")
  private @Nullable String type;

  @Label("Message Id")
  private @Nullable String messageId;

  @Label("Attempt")
  private int attempt;

  @Label("Outcome")
  private @Nullable String outcome;

  static @Nullable Object begun() {
    HandlerAttemptRecord event = new HandlerAttemptRecord();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  void ended(Attempt ended, Interceptor.End end) {
    end();
    if (shouldCommit()) {
      inbox = ended.inbox();
      handler = ended.handler.key();
      type = ended.type();
      messageId = ended.work.message().id();
      attempt = ended.attempt();
      outcome = end.word();
      commit();
    }
  }
}
