package dev.pigeonhole.testkit;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import org.assertj.core.api.AbstractAssert;

/** Assertions about an inbox. Every failure shows all deliveries as they stand. */
public final class TestInboxAssert extends AbstractAssert<TestInboxAssert, TestInbox> {

  TestInboxAssert(TestInbox actual) {
    super(actual, TestInboxAssert.class);
  }

  /** Goes on with the delivery of this message to this handler. */
  public DeliveryAssert delivery(String id, String handler) {
    isNotNull();
    String name = "delivery of '%s' to '%s'".formatted(id, handler);
    return new DeliveryAssert(actual, name, actual.find(id, handler).orElse(null));
  }

  /** As above, where two sources have sent the same id. */
  public DeliveryAssert delivery(String source, String id, String handler) {
    isNotNull();
    String name = "delivery of '%s/%s' to '%s'".formatted(source, id, handler);
    MessageRef message = new MessageRef(source, id);
    return new DeliveryAssert(actual, name, actual.find(message, handler).orElse(null));
  }

  /** Nothing is open: every delivery is completed or poisoned. */
  public TestInboxAssert isDrained() {
    isNotNull();
    if (actual.open() > 0) {
      failWithMessage("%s deliveries are still open. %s", actual.open(), actual.describe());
    }
    return this;
  }

  /** No handler has given up on a message. */
  public TestInboxAssert hasNoPoison() {
    isNotNull();
    Count poisoned = actual.inbox().admin().deliveries().poisoned().count();
    if (poisoned.value() > 0) {
      failWithMessage("%s deliveries are poisoned. %s", poisoned, actual.describe());
    }
    return this;
  }

  /** Exactly so many deliveries are in this state, over all handlers. */
  public TestInboxAssert has(int expected, DeliveryState state) {
    isNotNull();
    long found = actual.deliveries().stream().filter(view -> view.state() == state).count();
    if (found != expected) {
      failWithMessage(
          "Expected %s deliveries to be %s, but %s are. %s",
          expected, state, found, actual.describe());
    }
    return this;
  }
}
