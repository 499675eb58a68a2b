package dev.pigeonhole.internal.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** At which rate a change goes on. Time passes only while it rests. */
class ChangeOfManyTest {
  private static final Instant START = Instant.parse("2030-01-01T00:00:00Z");

  private Instant now = START;
  private int mostInAStep = Integer.MAX_VALUE;
  private Operation stored;

  /** When each of them was changed. */
  private final List<Instant> changes = new ArrayList<>();

  private static <T> T fake(Class<T> type, InvocationHandler calls) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, calls));
  }

  private BulkChange change(int chosen, Sleeper sleeper) {
    AdminQueries queries =
        fake(
            AdminQueries.class,
            (self, method, args) ->
                switch (method.getName()) {
                  case "operation" -> Optional.ofNullable(stored);
                  case "begin" -> stored = (Operation) args[0];
                  case "step" -> step((List<?>) args[2], (boolean) args[3]);
                  default -> throw new AssertionError(method);
                });
    InboxStore store = fake(InboxStore.class, (self, method, args) -> queries);
    return new ChangeOfMany(
        new Administration(store, "ada", sleeper),
        new AdminChange(Action.RETRY, null, "ada", "because"),
        "what",
        true,
        new Numbers(chosen));
  }

  /** Changes those of a step that it comes to. */
  private Operation step(List<?> chosen, boolean last) {
    List<?> reached = chosen.subList(0, Math.min(chosen.size(), mostInAStep));
    reached.forEach(each -> changes.add(now));
    stored =
        stored.after(
            (Place) reached.get(reached.size() - 1),
            Collections.nCopies(reached.size(), Effect.CHANGED),
            last && reached.size() == chosen.size());
    return stored;
  }

  /** Deliveries with the numbers from 1 on. */
  private record Numbers(int count) implements ChangeOfMany.Choice {
    @Override
    public List<Listed<MessageRef>> next(Slice slice) {
      Place last = slice.after();
      long first = last == null ? 1 : last.seq() + 1;
      return LongStream.rangeClosed(first, count)
          .limit(slice.limit())
          .mapToObj(n -> new Listed<>(new Place(n, 1), new MessageRef("s", "m-" + n)))
          .toList();
    }

    @Override
    public long count(int most) {
      return Math.min(count, most);
    }
  }

  private void pass(Duration duration) {
    now = now.plus(duration);
  }

  private void noMoreInASecondThan(int most) {
    for (Instant from : changes) {
      Instant end = from.plusSeconds(1);
      assertThat(changes.stream().filter(each -> !each.isBefore(from) && each.isBefore(end)))
          .as("in the second from %s", from)
          .hasSizeLessThanOrEqualTo(most);
    }
  }

  @Test
  void noMoreAreChangedInASecondThanWasAsked() {
    ChangeResult result = change(250, this::pass).perSecond(40).run();

    assertThat(result.changed()).isEqualTo(250);
    noMoreInASecondThan(40);
    assertThat(now).as("and no fewer").isEqualTo(START.plusSeconds(6));
  }

  @Test
  void aFastRateIsKeptOverSeveralSteps() {
    change(1_050, this::pass).perSecond(500).run();

    noMoreInASecondThan(500);
    assertThat(now).isEqualTo(START.plusMillis(2_000));
  }

  @Test
  void aStepThatEndedEarlyRestsForWhatItHasDone() {
    mostInAStep = 10;

    change(40, this::pass).perSecond(40).run();

    assertThat(changes).hasSize(40);
    noMoreInASecondThan(40);
    assertThat(now).isEqualTo(START.plusMillis(750));
  }

  @Test
  void withoutARateNobodyRests() {
    ChangeResult result =
        change(
                250,
                duration -> {
                  throw new AssertionError("rested for " + duration);
                })
            .run();

    assertThat(result.finished()).isTrue();
    assertThat(result.changed()).isEqualTo(250);
  }

  @Test
  void whoIsInterruptedWhileItRestsEndsThereAndTellsHowFarItCame() {
    ChangeResult result =
        change(
                250,
                duration -> {
                  throw new InterruptedException();
                })
            .perSecond(40)
            .run();

    assertThat(Thread.interrupted()).isTrue();
    assertThat(result.finished()).isFalse();
    assertThat(result.changed()).isEqualTo(40);
  }
}
