package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.HandlerOption.keyedBy;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Inline handlers with a business key of their own, beside others. Texts are "key content". */
class InlineKeyTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";
  private static final HandlerOption OWN_KEY = keyedBy(String.class, InlineKeyTest::key);

  private final List<String> called = new CopyOnWriteArrayList<>();
  private final EventCounts counts = EventCounts.create();
  private volatile boolean failing;
  private volatile String current = "";
  private TestDatabase database;
  private JdbcStore store;

  private void open(TestDatabase fresh) {
    database = fresh;
    InboxTables.in(fresh);
    store = JdbcStore.of(fresh.pool(16));
  }

  @AfterEach
  void close() {
    database.close();
  }

  private static @Nullable String key(String text) {
    String key = text.split(" ", 2)[0];
    return key.isEmpty() ? null : key;
  }

  private Inbox inbox(UnaryOperator<TypeBuilder<String>> handlers) {
    Channel channel = handlers.apply(Channel.named("c").on(String.class).named("text")).build();
    return Inbox.on(store).channel(channel).listener(counts).build();
  }

  private void note(String text, HandlerTransaction<String> tx) {
    called.add(tx.delivery().handler() + " " + text);
    if (failing) {
      throw new IllegalStateException("not well");
    }
  }

  /** One goes by the message's id, the other by its own key. */
  private TypeBuilder<String> both(TypeBuilder<String> type) {
    return type.handleInTransaction("id", this::note, inline())
        .handleInTransaction("key", this::note, inline(), OWN_KEY);
  }

  private TypeBuilder<String> storedAlone(TypeBuilder<String> type) {
    return type.handleInTransaction("key", this::note, OWN_KEY);
  }

  private List<String> callsOf(String handler) {
    return called.stream().filter(call -> call.startsWith(handler + " ")).toList();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void itRunsOnceForAKeyAndItsSiblingsOnceForAMessage(TestDatabase fresh) {
    open(fresh);
    Inbox inbox = inbox(this::both);

    assertThat(inbox.accept("c", Message.of("m-1", "k-1 a")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.accept("c", Message.of("m-2", "k-1 b")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.accept("c", Message.of("m-2", "k-1 b"))).isInstanceOf(Acceptance.Repeat.class);
    inbox.accept("c", Message.of("m-3", "k-2 c"));

    assertThat(called)
        .containsExactly("id k-1 a", "key k-1 a", "id k-1 b", "id k-2 c", "key k-2 c");
    assertThat(inbox.find("key of text", "k-1", "key")).isPresent();
    assertThat(inbox.find("c", "m-1", "key")).isEmpty();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatFailedRunsAgainUnderItsKeyAlone(TestDatabase fresh) {
    open(fresh);
    Inbox inbox = inbox(this::both);
    failing = true;
    assertThat(inbox.accept("c", Message.of("m-1", "k-1 a")))
        .isInstanceOfSatisfying(
            Acceptance.Unfinished.class,
            unfinished -> assertThat(unfinished.failures()).containsOnlyKeys("id", "key"));
    failing = false;

    inbox.accept("c", Message.of("m-2", "k-1 b"));
    assertThat(inbox.accept("c", Message.of("m-1", "k-1 a")))
        .isInstanceOf(Acceptance.Accepted.class);

    assertThat(callsOf("key")).containsExactly("key k-1 a", "key k-1 b");
    assertThat(callsOf("id")).containsExactly("id k-1 a", "id k-1 b", "id k-1 a");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void storedSiblingsGetEveryMessage(TestDatabase fresh) {
    open(fresh);
    Inbox inbox =
        inbox(
            type ->
                type.handle("stored", text -> called.add("stored " + text))
                    .handleInTransaction("key", this::note, inline(), OWN_KEY));

    inbox.accept("c", Message.of("m-1", "k-1 a"));
    inbox.accept("c", Message.of("m-2", "k-1 b"));
    inbox.drain();

    assertThat(callsOf("key")).containsExactly("key k-1 a");
    assertThat(callsOf("stored")).containsExactlyInAnyOrder("stored k-1 a", "stored k-1 b");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatItHasHadStoredIsARepeatInlineAndWhatWaitsIsTakenOver(TestDatabase fresh) {
    open(fresh);
    Inbox stored = inbox(this::storedAlone);
    stored.accept("c", Message.of("m-1", "k-1 a"));
    stored.drain();
    stored.accept("c", Message.of("m-2", "k-2 b"));

    Inbox moved = inbox(this::both);
    moved.accept("c", Message.of("m-3", "k-1 c"));
    moved.accept("c", Message.of("m-4", "k-2 d"));
    moved.drain();

    assertThat(callsOf("key")).containsExactly("key k-1 a", "key k-2 d");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatItHasHadInlineIsARepeatWhereItIsStored(TestDatabase fresh) {
    open(fresh);
    inbox(this::both).accept("c", Message.of("m-1", "k-1 a"));

    Inbox stored = inbox(this::storedAlone);
    assertThat(stored.accept("c", Message.of("m-2", "k-1 b")))
        .isInstanceOf(Acceptance.Repeat.class);
    stored.accept("c", Message.of("m-3", "k-2 c"));
    stored.drain();

    assertThat(callsOf("key")).containsExactly("key k-1 a", "key k-2 c");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardWithTheSameKeyKnowsItAndTheOtherWayRound(TestDatabase fresh) throws SQLException {
    open(fresh);
    Inbox inbox = inbox(this::both);
    inbox.accept("c", Message.of("m-1", "k-1 a"));
    try (Guard guard = Guard.on(store).keepReceiptsForEver().build()) {
      assertThat(guard.run(GuardKey.of("key", "text", "k-1"), tx -> called.add("guard")))
          .isInstanceOf(Guarded.Repeat.class);
      assertThat(guard.run(GuardKey.of("key", "text", "k-2"), tx -> called.add("guard")))
          .isInstanceOf(Guarded.Ran.class);
    }
    inbox.accept("c", Message.of("m-2", "k-2 b"));

    assertThat(called).containsExactly("id k-1 a", "key k-1 a", "guard", "id k-2 b");
  }

  @Test
  void theKeyOfTheTypeIsForTheOthers() {
    open(TestDatabases.open(DatabaseKind.H2));
    Inbox inbox = inbox(type -> both(type.keyedBy(text -> text)));

    inbox.accept("c", Message.of("m-1", "k-1 a"));
    inbox.accept("c", Message.of("m-2", "k-1 a"));
    inbox.accept("c", Message.of("m-3", "k-1 b"));

    assertThat(called).containsExactly("id k-1 a", "key k-1 a", "id k-1 b");
  }

  @Test
  void ph_id_07_withoutItsKeyTheMessageIsRejectedAndNobodyRuns() {
    open(TestDatabases.open(DatabaseKind.H2));
    assertThat(inbox(this::both).accept("c", Message.of("m-1", " a")))
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class,
            rejected -> {
              assertThat(rejected.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
              assertThat(rejected.reason()).contains("handler 'key'", ".missingKey(");
            });
    assertThat(called).isEmpty();
    assertThat(database.count("SELECT COUNT(*) FROM " + GuardRig.table(database, "message")))
        .isZero();
  }

  @Test
  void thePolicyOfTheTypeSaysWhatAMissingKeyMeans() {
    open(TestDatabases.open(DatabaseKind.H2));
    assertThat(callsWithoutAKey(OnMissingKey.USE_ID)).containsExactly("m-1", "m-2");
    assertThat(callsWithoutAKey(OnMissingKey.HASH_CONTENT)).containsExactly("m-1");
    assertThat(callsWithoutAKey(OnMissingKey.ACCEPT_EVERY_COPY))
        .containsExactly("m-1", "m-1", "m-2");
    assertThat(counts.of(InboxEvent.WithoutKey.class)).isEqualTo(9);
  }

  /** Brings one message twice, and another one with the same content; all without a key. */
  private List<String> callsWithoutAKey(OnMissingKey policy) {
    List<String> ids = new CopyOnWriteArrayList<>();
    String handler = "h-" + policy.ordinal();
    Inbox inbox =
        inbox(
            type ->
                type.missingKey(policy)
                    .handle("sibling-of-" + handler, text -> {}, inline())
                    .handleMessage(handler, received -> ids.add(current), inline(), OWN_KEY));
    for (String id : List.of("m-1", "m-1", "m-2")) {
      current = id;
      inbox.accept("c", Message.of(id, " same"));
    }
    return ids;
  }

  @Test
  void aConflictOfTheMessageStopsThoseBehindTheOneThatFoundIt() {
    open(TestDatabases.open(DatabaseKind.H2));
    Inbox inbox =
        inbox(
            type ->
                both(type.handleInTransaction("first", this::note, inline(), OWN_KEY))
                    .handle("last", text -> called.add("last " + text), inline()));
    inbox.accept("c", Message.of("m-1", "k-1 a"));
    called.clear();

    assertThat(inbox.accept("c", Message.of("m-1", "k-2 b")))
        .isInstanceOf(Acceptance.Conflict.class);

    assertThat(called).containsExactly("first k-2 b");
    assertThat(inbox.admin().conflicts(10)).hasSize(1);
  }

  @Test
  void aConflictDoesNotHideThatAHandlerBeforeItHasFailed() {
    open(TestDatabases.open(DatabaseKind.H2));
    Inbox inbox =
        inbox(
            type ->
                type.handle(
                        "first",
                        text -> {
                          if (text.startsWith("k-2")) {
                            throw new IllegalStateException("not this one");
                          }
                        },
                        inline(),
                        OWN_KEY)
                    .handle("second", text -> {}, inline()));
    inbox.accept("c", Message.of("m-1", "k-1 a"));

    assertThat(inbox.accept("c", Message.of("m-1", "k-2 b")))
        .isInstanceOfSatisfying(
            Acceptance.Unfinished.class,
            unfinished -> assertThat(unfinished.failures()).containsOnlyKeys("first"));
  }
}
