package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Priorities on real databases. */
class PriorityTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theHighestIsTakenFirst(TestDatabase database) {
    InboxTables.in(database);
    List<String> handled = Collections.synchronizedList(new ArrayList<>());
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(6)))
            .channel(Channel.named("texts").on(String.class).handle("h", handled::add).build())
            .build();
    for (int priority : new int[] {0, 5, 4, 9, 3}) {
      String text = "p" + priority;
      assertThat(inbox.accept("texts", Message.of(text, text).priority(priority)))
          .isInstanceOf(Acceptance.Accepted.class);
    }
    assertThat(inbox.accept("texts", Message.of("p9", "p9").priority(0)))
        .isInstanceOf(Acceptance.Repeat.class);

    assertThat(inbox.drain()).isEqualTo(5);
    assertThat(handled).containsExactly("p9", "p5", "p4", "p3", "p0");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void twoNodesHandleEachMessageOnceWhateverItsPriority(TestDatabase database) throws Exception {
    InboxTables.in(database);
    int many = 1_000;
    Map<String, AtomicInteger> attempts = new ConcurrentHashMap<>();
    Channel channel =
        Channel.named("texts")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  int attempt =
                      attempts.computeIfAbsent(text, any -> new AtomicInteger()).incrementAndGet();
                  if (attempt == 1 && text.endsWith("7")) {
                    throw new IllegalStateException("once");
                  }
                },
                HandlerOption.atMost(2),
                HandlerOption.retrying(RetryPolicy.fixed(Duration.ofMillis(50))))
            .build();
    Inbox one = inbox(database, channel);
    Inbox two = inbox(database, channel);
    try (RunningInbox first = one.start();
        RunningInbox second = two.start()) {
      inParallel(
          4,
          thread -> {
            for (int i = thread; i < many; i += 4) {
              String text = "m" + i;
              Inbox inbox = i % 3 == 0 ? two : one;
              inbox.accept("texts", Message.of(text, text).priority(i % 10));
            }
            return true;
          });
      Eventually.until(
          "all receipts",
          Duration.ofMinutes(5),
          () -> one.admin().counts().get(0).completed().value() == many);
      Eventually.until(Duration.ofMinutes(3), first::healthy);
      Eventually.until(Duration.ofMinutes(3), second::healthy);
    }
    assertThat(attempts).hasSize(many);
    attempts.forEach(
        (text, count) -> assertThat(count).as(text).hasValue(text.endsWith("7") ? 2 : 1));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void repeatsThatRaceAddOneDeliveryForANewHandler(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    int many = 50;
    for (int i = 0; i < many; i++) {
      rig.accept(rig.placed("m" + i, 1 + i, rig.a));
    }
    AtomicInteger added = new AtomicInteger();
    inParallel(
        6,
        thread -> {
          for (int i = 0; i < many; i++) {
            int each = thread % 2 == 0 ? i : many - 1 - i;
            AcceptResult result =
                rig.accept(rig.placed("m" + each, 1_000 * thread + each + 1, rig.a, rig.b));
            added.addAndGet(((AcceptResult.Known) result).added().size());
          }
          return true;
        });

    assertThat(added).hasValue(many);
    assertThat(database.count("SELECT count(*) FROM " + rig.table("later"))).isEqualTo(2 * many);
    assertThat(database.count("SELECT count(*) FROM " + rig.table("delivery"))).isZero();
  }

  private static Inbox inbox(TestDatabase database, Channel channel) {
    return Inbox.on(JdbcStore.of(database.pool(8)))
        .channel(channel)
        .batchSize(64)
        .deadAfter(Duration.ofMinutes(2)) // a takeover would run some of them again
        .build();
  }

  private interface Part {
    boolean run(int thread) throws Exception;
  }

  private static void inParallel(int threads, Part part) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Callable<Boolean>> parts = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int thread = i;
        parts.add(() -> part.run(thread));
      }
      for (Future<Boolean> each : pool.invokeAll(parts)) {
        assertThat(each.get()).isTrue();
      }
    } finally {
      pool.shutdownNow();
    }
  }
}
