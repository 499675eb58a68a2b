package dev.pigeonhole.spring.boot.test;

import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;

/** Empties the inbox after each test method. */
final class InboxResetTestExecutionListener implements TestExecutionListener, Ordered {

  InboxResetTestExecutionListener() {}

  /** After the transaction of a test (4000) has ended, before its context (3000) is closed. */
  @Override
  public int getOrder() {
    return 3900;
  }

  @Override
  public void afterTestMethod(TestContext testContext) {
    if (testContext.hasApplicationContext()) {
      testContext
          .getApplicationContext()
          .getBeanProvider(InboxReset.class)
          .ifAvailable(InboxReset::run);
    }
  }
}
