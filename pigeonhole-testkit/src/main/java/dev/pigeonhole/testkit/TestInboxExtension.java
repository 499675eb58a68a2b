package dev.pigeonhole.testkit;

import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives every test an inbox of its own, and stops it when the test ends.
 *
 * <pre>{@code
 * @RegisterExtension
 * final TestInboxExtension inboxes =
 *     TestInboxExtension.of(() -> TestInbox.of(orders)).leavingNothingOpen();
 *
 * @Test
 * void receiptIsSent(TestInbox inbox) { … }
 * }</pre>
 */
public final class TestInboxExtension
    implements BeforeEachCallback, AfterEachCallback, ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(TestInboxExtension.class);

  private final Supplier<TestInbox> supplier;
  private final boolean leavingNothingOpen;

  private TestInboxExtension(Supplier<TestInbox> supplier, boolean leavingNothingOpen) {
    this.supplier = supplier;
    this.leavingNothingOpen = leavingNothingOpen;
  }

  /** Asks for a new inbox before each test. */
  public static TestInboxExtension of(Supplier<TestInbox> supplier) {
    return new TestInboxExtension(supplier, false);
  }

  /** A test that ends with a delivery neither completed nor poisoned fails. */
  public TestInboxExtension leavingNothingOpen() {
    return new TestInboxExtension(supplier, true);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    context.getStore(NAMESPACE).put(this, supplier.get());
  }

  @Override
  public void afterEach(ExtensionContext context) {
    TestInbox inbox = inbox(context);
    inbox.close();
    // A test that has failed already has something more important to say.
    if (leavingNothingOpen && context.getExecutionException().isEmpty() && inbox.open() > 0) {
      throw new AssertionError("The test leaves work undone. " + inbox.describe());
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == TestInbox.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return inbox(context);
  }

  private TestInbox inbox(ExtensionContext context) {
    TestInbox inbox = context.getStore(NAMESPACE).get(this, TestInbox.class);
    if (inbox == null) {
      throw new IllegalStateException("A test inbox exists only while a test runs.");
    }
    return inbox;
  }
}
