package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Specs;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Handlers that nobody can call: they fail where everybody sees it. */
class RunnerTest {
  private final List<InboxEvent> told = new ArrayList<>();
  private final List<Settled> settled = new ArrayList<>();
  private final Events events = new Events("shop", List.of(told::add));
  private final Settler settler =
      new Settler(
          stub(Deliveries.class, SettleResult.allRecorded()),
          new Events("shop", List.of()),
          100,
          settled::addAll,
          (rows, lasting) -> {});
  private final Runner runner = runner(stub(Runner.Surroundings.class, true));

  private Runner runner(Runner.Surroundings surroundings) {
    return new Runner(
        Payloads.using(null),
        new Interception(List.of()),
        null,
        null,
        new Endings(settler, events, once(), () -> Instant.EPOCH),
        new Timeouts(null, false),
        events,
        () -> false,
        surroundings);
  }

  private static Backoff once() {
    return new Backoff(
        Duration.ofSeconds(7),
        Duration.ofSeconds(7),
        false,
        false,
        new Backoff.Limits(1, 2),
        List.of(),
        OptionalLong.empty());
  }

  /** Answers the same to everything. */
  private static <T> T stub(Class<T> type, Object answer) {
    return proxy(
        type, (self, method, args) -> method.getReturnType() == void.class ? null : answer);
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private String failureOf(@Nullable TransactionalHandler<Object> body) {
    BoundHandler handler = Handlers.bound(Specs.transactional("h", body));
    runner.run(Handlers.line(handler, 1, 1), List.of(Handlers.work(7, "text")));
    settler.flushAll();

    assertThat(runner.running()).isEmpty();
    assertThat(told).singleElement().isInstanceOf(InboxEvent.Poisoned.class);
    return settled.stream()
        .map(each -> ((Outcome.Poisoned) each.settlement().outcome()).failure().message())
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aHandlerWithoutABodyHasNotCompletedAnything() {
    assertThat(failureOf(null)).contains("neither plain nor transactional");
  }

  @Test
  void anAttemptThatHasNoMemoryToBeginIsGivenBack() {
    List<String> calls = new ArrayList<>();
    Runner without =
        runner(
            proxy(
                Runner.Surroundings.class,
                (self, method, args) -> {
                  calls.add(method.getName());
                  if (method.getName().equals("begun")) {
                    throw new OutOfMemoryError("test");
                  }
                  return method.getReturnType() == void.class ? null : true;
                }));

    without.run(
        Handlers.line(Handlers.plain("h", any -> {}), 1, 1), List.of(Handlers.work(7, "text")));

    assertThat(calls).containsOnlyOnce("notStarted").contains("fatal");
    assertThat(without.running()).isEmpty();
  }

  @Test
  void aTransactionalHandlerOfAStoreWithoutTransactionsDoesNotWaitForEver() {
    assertThat(failureOf((payload, transaction) -> {})).contains("'h'", "transaction");
  }
}
