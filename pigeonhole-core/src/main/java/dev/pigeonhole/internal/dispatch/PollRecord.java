package dev.pigeonhole.internal.dispatch;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** One look at the store, for Java Flight Recorder. */
@Name("pigeonhole.Poll")
@Label("Poll")
@Category("Pigeonhole")
@Description("The store was asked for work")
@StackTrace(false)
@SuppressWarnings("unused") // the recorder reads the fields
final class PollRecord extends Event {
  @Label("Inbox")
  private @Nullable String inbox;

  @Label("Deliveries")
  private int deliveries;

  static @Nullable Object begun() {
    PollRecord event = new PollRecord();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  void ended(String name, int found) {
    end();
    if (shouldCommit()) {
      inbox = name;
      deliveries = found;
      commit();
    }
  }
}
