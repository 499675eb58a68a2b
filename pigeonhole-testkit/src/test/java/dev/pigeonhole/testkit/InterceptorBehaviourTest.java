package dev.pigeonhole.testkit;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Handler;
import dev.pigeonhole.Interceptor;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What stands around attempts, and what it can do to them. */
class InterceptorBehaviourTest {
  private final List<String> seen = new ArrayList<>();

  private TestInbox inbox(Handler<String> handler, Interceptor... interceptors) {
    TestInbox inbox =
        TestInbox.of(Channel.named("c").on(String.class).handle("h", handler).build());
    for (Interceptor each : interceptors) {
      inbox = inbox.with(it -> it.around(each));
    }
    inbox.receive("m", "x");
    inbox.drain();
    return inbox;
  }

  private Interceptor named(String name) {
    return (received, next) -> {
      seen.add(name + " before " + received.message().id() + " attempt " + received.attempt());
      next.proceed();
      seen.add(name + " after");
    };
  }

  @Test
  void theFirstInterceptorStandsOutermost() {
    TestInbox inbox = inbox(text -> seen.add("handled " + text), named("one"), named("two"));

    assertThat(seen)
        .containsExactly(
            "one before m attempt 1",
            "two before m attempt 1",
            "handled x",
            "two after",
            "one after");
    assertThat(inbox).delivery("m", "h").isCompleted();
  }

  @Test
  void whatAnInterceptorThrowsIsTheFailureOfTheAttempt() {
    TestInbox inbox =
        inbox(
            text -> seen.add("handled"),
            (received, next) -> {
              throw new IllegalStateException("no tenant");
            });

    assertThat(seen).isEmpty();
    assertThat(inbox.find("m", "h").orElseThrow().failures()).isEqualTo(1);
    assertThat(inbox.find("m", "h").orElseThrow().lastFailure().orElseThrow().message())
        .isEqualTo("no tenant");
  }

  @Test
  void anInterceptorCannotSwallowTheFailureOfAHandler() {
    TestInbox inbox =
        inbox(
            text -> {
              throw new IllegalStateException("broken");
            },
            (received, next) -> {
              try {
                next.proceed();
              } catch (IllegalStateException e) {
                seen.add("swallowed " + e.getMessage());
              }
            });

    assertThat(seen).containsExactly("swallowed broken");
    assertThat(inbox.find("m", "h").orElseThrow().failures()).isEqualTo(1);
  }

  @Test
  void anInterceptorThatDoesNotProceedCompletesNothing() {
    TestInbox inbox = inbox(text -> seen.add("handled"), (received, next) -> {});

    assertThat(seen).isEmpty();
    assertThat(inbox.find("m", "h").orElseThrow().lastFailure().orElseThrow().code())
        .isEqualTo(ErrorCode.HANDLER_NOT_CALLED);
  }

  @Test
  void aHandlerIsNotCalledTwiceInOneAttempt() {
    TestInbox inbox =
        inbox(
            text -> seen.add("handled"),
            (received, next) -> {
              next.proceed();
              next.proceed();
            });

    assertThat(seen).containsExactly("handled");
    assertThat(inbox.find("m", "h").orElseThrow().failures()).isEqualTo(1);
  }
}
