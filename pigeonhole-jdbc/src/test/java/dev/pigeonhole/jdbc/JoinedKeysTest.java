package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.inline;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two handler keys were registered apart, and a new version declares them one, in whatever order,
 * while nodes of the former versions run: each is a process of its own, which has read the keys
 * before and asks for nothing.
 */
class JoinedKeysTest {

  /** What the new version calls the handler, and what it says it was called. */
  private static final List<List<String>> JOINS =
      List.of(
          List.of("newest", "older", "newer"),
          List.of("newest", "newer", "older"),
          List.of("newer", "older"),
          List.of("older", "newer"));

  private static final List<String> FORMER = List.of("older", "newer");

  private GuardRig rig;

  private static Stream<Arguments> joins() {
    return Stream.of(DatabaseKind.values())
        .flatMap(kind -> JOINS.stream().map(join -> Arguments.of(kind, join)));
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static HandlerKey key(List<String> names) {
    return HandlerKey.of(names.get(0))
        .formerly(names.subList(1, names.size()).toArray(String[]::new));
  }

  private static GuardKey guardKey(List<String> names, String id) {
    return GuardKey.of(names.get(0), "charge", id)
        .formerly(names.subList(1, names.size()).toArray(String[]::new));
  }

  /** The guard of another process. */
  private Guard guard() {
    return Guard.on(JdbcStore.of(rig.database.pool(16))).keepReceiptsForEver().build();
  }

  private static Guarded<Integer> run(Guard guard, List<String> names, String id)
      throws SQLException {
    return guard.run(
        guardKey(names, id),
        tx -> {
          GuardRig.write(tx, id);
          return 1;
        });
  }

  @ParameterizedTest
  @MethodSource("joins")
  void aGuardUnderOneOfTheFormerKeysKnowsWhatTheNewOneHasRun(DatabaseKind kind, List<String> join)
      throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));
    try (Guard older = guard();
        Guard newer = guard()) {
      List<Guard> old = List.of(older, newer);
      for (int i = 0; i < old.size(); i++) {
        run(old.get(i), List.of(FORMER.get(i)), "before-" + i);
      }
      try (Guard renamed = guard()) {
        for (int i = 0; i < old.size(); i++) {
          assertRunOnce(renamed, join, old.get(i), FORMER.get(i));
          assertThat(run(renamed, join, "before-" + i)).isInstanceOf(Guarded.Repeat.class);
        }
      }
    }
    assertThat(DuplicateRows.in(rig.database)).isEmpty();
  }

  private void assertRunOnce(Guard renamed, List<String> join, Guard old, String former)
      throws SQLException {
    for (String id : List.of("unknown-" + former, "known-" + former)) {
      if (id.startsWith("known")) {
        rig.guard.run(guardKey(List.of("another"), id), tx -> 1);
      }
      assertThat(run(renamed, join, id)).isInstanceOf(Guarded.Ran.class);

      assertThat(run(old, List.of(former), id))
          .as("%s under %s", id, former)
          .isInstanceOf(Guarded.Repeat.class);
      assertThat(rig.effects(id)).as(id).isOne();
    }
  }

  /** The inbox of another process. */
  private Inbox inbox(List<String> names, HandlerOption... options) {
    return Inbox.on(JdbcStore.of(rig.database.pool(16)))
        .channel(
            Channel.named("c")
                .on(String.class)
                .handleInTransaction(
                    key(names), (text, tx) -> GuardRig.write(tx.connection(), text), options)
                .handle("other", text -> {})
                .build())
        .build();
  }

  @ParameterizedTest
  @MethodSource("joins")
  void aStoredHandlerUnderOneOfTheFormerKeysGetsNoDeliveryOfWhatTheNewOneHasHandled(
      DatabaseKind kind, List<String> join) throws SQLException {
    assertHandledOnce(kind, join);
  }

  @ParameterizedTest
  @MethodSource("joins")
  void anInlineHandlerUnderOneOfTheFormerKeysKnowsWhatTheNewOneHasHandled(
      DatabaseKind kind, List<String> join) throws SQLException {
    assertHandledOnce(kind, join, inline());
  }

  private void assertHandledOnce(DatabaseKind kind, List<String> join, HandlerOption... options)
      throws SQLException {
    rig = GuardRig.on(TestDatabases.open(kind));
    List<Inbox> old = FORMER.stream().map(former -> inbox(List.of(former), options)).toList();
    Inbox renamed = inbox(join, options);
    for (Inbox each : old) {
      for (boolean joined : new boolean[] {false, true}) {
        String id = "m-" + old.indexOf(each) + joined;
        renamed.accept("c", Message.of(id, id));
        renamed.drain();

        assertThat(again(each, joined, Message.of(id, id))).isInstanceOf(Acceptance.Repeat.class);
        each.drain();
        assertThat(rig.effects(id)).as(id).isOne();
      }
    }
    assertThat(DuplicateRows.in(rig.database)).isEmpty();
  }

  private Acceptance again(Inbox inbox, boolean joined, Message message) throws SQLException {
    if (!joined) {
      return inbox.accept("c", message);
    }
    try (Connection mine = rig.begin()) {
      Acceptance answer = inbox.accept(mine, "c", message);
      mine.commit();
      return answer;
    }
  }
}
