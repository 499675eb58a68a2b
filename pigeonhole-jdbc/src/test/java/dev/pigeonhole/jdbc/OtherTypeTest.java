package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.inline;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.support.TestDatabase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** One id and the same bytes, under one type and then under another, or under another name. */
class OtherTypeTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private final List<String> handled = new CopyOnWriteArrayList<>();
  private GuardRig rig;

  @AfterEach
  void close() {
    rig.close();
  }

  private Inbox inbox(TypeBuilder<?> last) {
    return Inbox.on(rig.store).channel(last.build()).build();
  }

  private TypeBuilder<byte[]> confirmed(HandlerOption... options) {
    return Channel.named("orders")
        .on(byte[].class)
        .named("order.confirmed")
        .handle("confirm", order -> handled.add("confirmed"), options);
  }

  private static Message order(String type) {
    return Message.encoded("order-1", type, "{}".getBytes(UTF_8), "text/plain");
  }

  private static void assertConflictIsKept(Inbox inbox) {
    assertThat(inbox.accept("orders", order("order.confirmed")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.accept("orders", order("order.cancelled")))
        .isInstanceOf(Acceptance.Conflict.class);
    assertThat(inbox.accept("orders", order("order.confirmed")))
        .isInstanceOf(Acceptance.Repeat.class);
    assertThat(inbox.admin().conflicts(10))
        .extracting(ConflictView::type)
        .containsExactly("order.cancelled");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anotherTypeThatNobodyHandlesIsAConflict(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox inbox = inbox(confirmed());

    assertConflictIsKept(inbox);
    inbox.drain();

    assertThat(handled).containsExactly("confirmed");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anotherTypeWithAHandlerIsAConflictAndNothingIsPoisoned(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox inbox =
        inbox(
            confirmed()
                .on(String.class)
                .named("order.cancelled")
                .handle("cancel", order -> handled.add("cancelled")));

    assertConflictIsKept(inbox);
    inbox.drain();

    assertThat(handled).containsExactly("confirmed");
    assertThat(rig.count("poison")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anotherTypeIsAConflictForInlineHandlers(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox inbox =
        inbox(
            confirmed(inline())
                .on(String.class)
                .named("order.cancelled")
                .handle("cancel", order -> handled.add("cancelled"), inline()));

    assertConflictIsKept(inbox);

    assertThat(handled).containsExactly("confirmed");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatOnlyAGuardKnowsHasNoTypeYet(TestDatabase database) {
    rig = GuardRig.on(database);
    rig.guard.run(GuardKey.ofMessage("another", "orders", "order-1"), tx -> 1);
    Inbox inbox = inbox(confirmed());

    assertThat(inbox.accept("orders", order("order.confirmed")))
        .isInstanceOf(Acceptance.Repeat.class);
    assertThat(inbox.accept("orders", order("order.cancelled")))
        .isInstanceOf(Acceptance.Conflict.class);
    rig.guard.run(GuardKey.ofMessage("third", "orders", "order-1"), tx -> 1);
    inbox.drain();

    assertThat(handled).containsExactly("confirmed");
  }

  /** Both versions run, and each may get a copy of what the other one has stored. */
  @ParameterizedTest
  @MethodSource(ALL)
  void duringARenameBothVersionsKnowTheirMessagesApartFromOthers(TestDatabase database) {
    rig = GuardRig.on(database);
    for (HandlerOption[] options : List.of(new HandlerOption[0], new HandlerOption[] {inline()})) {
      handled.clear();
      String prefix = options.length == 0 ? "stored-" : "inline-";
      Inbox old = versioned(prefix, options, "order.v1");
      Inbox renamed = versioned(prefix, options, "order.v2", "order.v1");
      Inbox next = versioned(prefix, options, "order.v3", "order.v2", "order.v1");
      List<Inbox> versions = List.of(old, renamed, next);
      for (Inbox first : versions) {
        Message message = Message.of(prefix + versions.indexOf(first), "hello");
        assertThat(first.accept("orders", message)).isInstanceOf(Acceptance.Accepted.class);
        for (Inbox again : versions) {
          assertThat(again.accept("orders", message))
              .as("first %s, then %s", versions.indexOf(first), versions.indexOf(again))
              .isInstanceOf(Acceptance.Repeat.class);
        }
      }
      next.drain();
      assertThat(handled).hasSize(versions.size());
    }
  }

  private Inbox versioned(String prefix, HandlerOption[] options, String name, String... former) {
    return inbox(
        Channel.named("orders")
            .on(String.class)
            .named(name, former)
            .handle(prefix + "handler", handled::add, options));
  }
}
