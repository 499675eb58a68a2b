package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Versions;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What happens where the versions of a delivery, or the lives of a message, end. */
class VersionLimitTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final long LAST_COUNT = (1L << 32) - 1;
  private static final int VERSIONS_PER_LIFE = 1 << 20;

  private final AtomicInteger runs = new AtomicInteger();

  private interface Body {
    void run(int run);
  }

  private Inbox inbox(TestDatabase database, Body body) {
    InboxTables.in(database);
    return Inbox.on(JdbcStore.of(database.pool(12)))
        .channel(
            Channel.named("c")
                .on(String.class)
                .orderedBy(text -> "k")
                .handle(
                    "h",
                    text -> body.run(runs.incrementAndGet()),
                    HandlerOption.retrying(RetryPolicy.fixed(Duration.ofMillis(1))))
                .build())
        .build();
  }

  private static String table(TestDatabase database, String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + "pigeonhole_" + name + quote;
  }

  private static void reaches(Inbox inbox, String id, DeliveryState state) {
    Eventually.passes(
        LIMIT, () -> assertThat(inbox.find("c", id, "h").orElseThrow().state()).isEqualTo(state));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aDeliveryThatHasUsedEveryVersionIsRetried(TestDatabase database) {
    Inbox inbox =
        inbox(
            database,
            run -> {
              if (run <= 2) {
                throw new IllegalStateException("fails twice");
              }
            });
    inbox.accept("c", List.of(Message.of("m", "x"), Message.of("next", "x")));
    haveUsedEveryVersion(database);

    try (RunningInbox running = inbox.start()) {
      reaches(inbox, "m", DeliveryState.COMPLETED);
      reaches(inbox, "next", DeliveryState.COMPLETED);
      Eventually.until(LIMIT, running::healthy);
    }
    assertThat(runs).hasValue(4);
    assertThat(inbox.find("c", "m", "h").orElseThrow().failures()).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aPoisonedDeliveryThatHasUsedEveryVersionCanBeRetried(TestDatabase database) {
    Inbox inbox =
        inbox(
            database,
            run -> {
              if (run == 1) {
                throw new PoisonException("never");
              }
            });
    inbox.accept("c", Message.of("m", "x"));
    haveUsedEveryVersion(database);

    try (RunningInbox running = inbox.start()) {
      reaches(inbox, "m", DeliveryState.POISONED);
      assertThat(inbox.admin().retry("c", "m", "h", "once more")).isTrue();
      reaches(inbox, "m", DeliveryState.COMPLETED);
      Eventually.until(LIMIT, running::healthy);
    }
    assertThat(runs).hasValue(2);
  }

  /** The lower half of a version counts, and is 0 for what was accepted. */
  private static void haveUsedEveryVersion(TestDatabase database) {
    database.execute(
        "UPDATE " + table(database, "delivery") + " SET version = version + " + LAST_COUNT);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aMessageIsReplayedUntilItsLivesAreUsedUp(TestDatabase database) {
    Inbox inbox = inbox(database, run -> {});
    inbox.accept("c", Message.of("m", "x"));
    inbox.drain();
    setTouched(database, Versions.MOST_LIVES - 1);

    assertThat(inbox.admin().replay("c", "m", "h", "the last time")).isTrue();
    inbox.drain();
    assertThat(runs).hasValue(2);

    for (int touched : new int[] {Versions.MOST_LIVES, Integer.MAX_VALUE}) {
      setTouched(database, touched);
      assertThatExceptionOfType(InboxException.class)
          .isThrownBy(() -> inbox.admin().replay("c", "m", "h", "once more"))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.REPLAYED_TOO_OFTEN))
          .withMessageContainingAll("PH-ADM-07", "'m'", "4,095");
      ChangeResult many = inbox.admin().messages().id("m").replay("h", "once more").run();
      assertThat(many.skipped()).isEqualTo(Map.of(Effect.TOO_OFTEN.text(), 1L));
    }
    inbox.drain();
    assertThat(runs).hasValue(2);
    assertThat(inbox.find("c", "m", "h").orElseThrow().state()).isEqualTo(DeliveryState.COMPLETED);
  }

  private static void setTouched(TestDatabase database, int touched) {
    database.execute("UPDATE " + table(database, "message") + " SET touched = " + touched);
  }

  /** The replay begins with a version that is lower than the last one of the life before it. */
  @ParameterizedTest
  @MethodSource(ALL)
  void anAttemptOfALifeWithTooManyVersionsDoesNotSettleAReplay(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    long first = rig.only(rig.a).version();
    database.execute(
        "UPDATE %s SET version = version + %d"
            .formatted(rig.table("delivery"), 2L * VERSIONS_PER_LIFE - 1));
    Delivery former = rig.only(rig.a);
    assertThat(rig.settle(List.of(former), new Outcome.Released())).isEmpty();
    Delivery last = rig.only(rig.a);
    assertThat(last.version()).isEqualTo(first + 2L * VERSIONS_PER_LIFE);
    assertThat(rig.settle(List.of(last), new Outcome.Completed())).isEmpty();

    assertThat(rig.store.admin().replay("test", "m", rig.a, "ada", "once more"))
        .isEqualTo(Effect.CHANGED);

    Delivery replayed = rig.only(rig.a);
    assertThat(replayed.version()).isEqualTo(first + VERSIONS_PER_LIFE);
    assertThat(rig.settle(List.of(former, last), new Outcome.Completed()))
        .containsExactlyInAnyOrder(former, last);
    assertThat(rig.settle(List.of(replayed), new Outcome.Completed())).isEmpty();
  }
}
