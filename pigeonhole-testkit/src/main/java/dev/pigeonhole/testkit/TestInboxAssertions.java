package dev.pigeonhole.testkit;

/** The way in to assertions, beside AssertJ's own; meant for static import. */
public final class TestInboxAssertions {
  private TestInboxAssertions() {}

  /** Asserts about an inbox as it stands now. */
  public static TestInboxAssert assertThat(TestInbox actual) {
    return new TestInboxAssert(actual);
  }
}
