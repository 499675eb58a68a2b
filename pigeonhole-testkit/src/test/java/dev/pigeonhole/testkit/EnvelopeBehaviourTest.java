package dev.pigeonhole.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a source is told to do with what it brings. */
class EnvelopeBehaviourTest {
  private static final Disposition DONE = new Disposition.Done();

  private final Recorder events = new Recorder();
  private final MemoryStore store = MemoryStore.create();
  private final List<String> handled = new CopyOnWriteArrayList<>();

  private static Envelope envelope(@Nullable String id, String text) {
    return Envelope.of("queue", "orders")
        .id(id)
        .type("String")
        .contentType("text/plain;charset=utf-8")
        .body(text.getBytes(UTF_8))
        .build();
  }

  private Inbox inbox(Channel channel) {
    return Inbox.on(store).channel(channel).listener(events).build();
  }

  private Channel plain(ChannelBuilder builder) {
    return builder.on(String.class).handle("h", handled::add).build();
  }

  private static ErrorCode code(Disposition disposition) {
    return disposition instanceof Disposition.Refused refused
        ? refused.code()
        : ((Disposition.Later) disposition).code();
  }

  @Test
  void newAndKnownAlikeAreDone() {
    Inbox inbox = inbox(plain(Channel.named("c")));
    Acceptor acceptor = inbox.acceptor("c");

    assertThat(acceptor.accept(List.of(envelope("m-1", "one"), envelope("m-2", "two"))))
        .containsExactly(DONE, DONE);
    assertThat(acceptor.accept(List.of(envelope("m-1", "one")))).containsExactly(DONE);
    inbox.drain();

    assertThat(handled).containsExactlyInAnyOrder("one", "two");
    assertThat(inbox.find("c", "m-1", "h")).isPresent();
  }

  @Test
  void oneThatIsRefusedDoesNotKeepItsNeighboursAndAnswersKeepTheirOrder() {
    Inbox inbox = inbox(plain(Channel.named("c")));
    List<Disposition> answers =
        inbox
            .acceptor("c")
            .accept(
                List.of(
                    envelope("m-1", "one"),
                    envelope("m-2", "two").toBuilder().type(null).build(),
                    envelope(null, "three"),
                    envelope("m-4", "four")));

    assertThat(answers).element(0).isEqualTo(DONE);
    assertThat(code(answers.get(1))).isEqualTo(ErrorCode.TYPE_MISSING);
    assertThat(code(answers.get(2))).isEqualTo(ErrorCode.ID_MISSING);
    assertThat(answers).element(3).isEqualTo(DONE);
    assertThat(answers.get(1))
        .asInstanceOf(InstanceOfAssertFactories.type(Disposition.Refused.class))
        .extracting(Disposition.Refused::reason)
        .asString()
        .startsWith("PH-KEY-11: ");
    inbox.drain();

    assertThat(handled).containsExactlyInAnyOrder("one", "four");
    assertThat(events.of(InboxEvent.Rejected.class))
        .extracting(InboxEvent.Rejected::code)
        .containsExactlyInAnyOrder(ErrorCode.TYPE_MISSING, ErrorCode.ID_MISSING);
  }

  @Test
  void ph_map_01_aMapperThatThrowsRefusesThatEnvelopeAlone() {
    MessageMapper fragile =
        envelope -> {
          if (envelope.id().filter("bad"::equals).isPresent()) {
            throw new IllegalStateException("no such\u0007field");
          }
          if (envelope.id().filter("deep"::equals).isPresent()) {
            throw new StackOverflowError();
          }
          if (envelope.id().filter("gone"::equals).isPresent()) {
            throw new NoClassDefFoundError("Gone");
          }
          if (envelope.id().filter("odd"::equals).isPresent()) {
            throw new ServiceConfigurationError("x");
          }
          return MessageMapper.plain().toMessage(envelope);
        };
    Inbox inbox = inbox(plain(Channel.named("c").mappedBy(fragile)));
    List<Disposition> answers =
        inbox
            .acceptor("c")
            .accept(
                List.of(
                    envelope("bad", "x"),
                    envelope("m-1", "one"),
                    envelope("deep", "x"),
                    envelope("gone", "x"),
                    envelope("odd", "x")));

    assertThat(code(answers.get(0))).isEqualTo(ErrorCode.ENVELOPE_UNMAPPABLE);
    assertThat(((Disposition.Refused) answers.get(0)).reason())
        .startsWith("PH-MAP-01: ")
        .contains("channel 'c'", "java.lang.IllegalStateException", "queue:orders/bad")
        .doesNotContain("\u0007");
    assertThat(answers).element(1).isEqualTo(DONE);
    assertThat(code(answers.get(2))).isEqualTo(ErrorCode.ENVELOPE_UNMAPPABLE);
    assertThat(code(answers.get(3))).isEqualTo(ErrorCode.ENVELOPE_UNMAPPABLE);
    assertThat(code(answers.get(4))).isEqualTo(ErrorCode.ENVELOPE_UNMAPPABLE);
  }

  @Test
  void ph_map_01_aStampThatThrowsRejectsThatMessageAloneAndIsGivenOnce() {
    AtomicInteger given = new AtomicInteger();
    Inbox inbox =
        Inbox.on(store)
            .channel(plain(Channel.named("c")))
            .stamping(
                message -> {
                  given.incrementAndGet();
                  if ("bad".equals(message.id())) {
                    throw new IllegalStateException("no tenant");
                  }
                  return message;
                })
            .build();

    List<Disposition> answers =
        inbox.acceptor("c").accept(List.of(envelope("bad", "x"), envelope("m-1", "one")));

    assertThat(code(answers.get(0))).isEqualTo(ErrorCode.ENVELOPE_UNMAPPABLE);
    assertThat(((Disposition.Refused) answers.get(0)).reason())
        .contains("stamp", "channel 'c'", "java.lang.IllegalStateException");
    assertThat(answers).element(1).isEqualTo(DONE);
    assertThat(given).hasValue(2);
    assertThatThrownBy(() -> inbox.accept("c", Message.of("bad", "x")))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aMapperThatCannotSayNowLetsNothingBeAcknowledged() {
    MessageMapper asking =
        envelope -> {
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "down", null);
        };
    Inbox inbox = inbox(plain(Channel.named("c").mappedBy(asking)));

    assertThatThrownBy(() -> inbox.acceptor("c").accept(List.of(envelope("m-1", "one"))))
        .isInstanceOf(StoreException.class);
  }

  @Test
  void aConflictIsDoneWhereTheCopyIsKept() {
    Inbox inbox = inbox(plain(Channel.named("c")));
    Acceptor acceptor = inbox.acceptor("c");
    acceptor.accept(List.of(envelope("m-1", "one")));

    assertThat(acceptor.accept(List.of(envelope("m-1", "other")))).containsExactly(DONE);
    assertThat(events.heard(InboxEvent.Conflicted.class)).isTrue();
  }

  @Test
  void ph_id_08_aConflictIsRefusedWhereNobodyKeepsTheCopy() {
    Inbox inbox = inbox(plain(Channel.named("c").onConflict(OnConflict.REJECT)));
    Acceptor acceptor = inbox.acceptor("c");
    acceptor.accept(List.of(envelope("m-1", "one")));
    Disposition answer = acceptor.accept(List.of(envelope("m-1", "other"))).get(0);

    assertThat(code(answer)).isEqualTo(ErrorCode.ID_CONFLICT);
    assertThat(((Disposition.Refused) answer).reason()).startsWith("PH-ID-08: ").contains("c/m-1");
  }

  @Test
  void whatNobodyWantsIsDone() {
    Inbox inbox = inbox(plain(Channel.named("c").unhandled(Unhandled.IGNORE)));
    Envelope other = envelope("m-1", "x").toBuilder().type("other").build();

    assertThat(inbox.acceptor("c").accept(List.of(other))).containsExactly(DONE);
    assertThat(events.heard(InboxEvent.Unhandled.class)).isTrue();
  }

  @Test
  void b07_aStoreThatCannotSayLetsNothingBeAcknowledged() {
    HookedStore.Hook outage =
        call -> {
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "down", null);
        };
    HookedStore down =
        new HookedStore(store).around("accept", outage).around("acceptTogether", outage);
    Inbox inbox = Inbox.on(down).channel(plain(Channel.named("c"))).build();

    assertThatThrownBy(() -> inbox.acceptor("c").accept(List.of(envelope("m-1", "one"))))
        .isInstanceOf(StoreException.class);
  }

  @Test
  void anUnknownChannelHasNoAcceptor() {
    assertThatThrownBy(() -> inbox(plain(Channel.named("c"))).acceptor("d"))
        .isInstanceOf(InboxException.class)
        .hasMessageContaining("PH-CFG-17");
  }

  // ---- direct channels

  /** Delivers when the test says so. */
  private static final class Tap implements MessageSource {
    volatile @Nullable Acceptor acceptor;
    final AtomicInteger stops = new AtomicInteger();

    @Override
    public String name() {
      return "tap";
    }

    @Override
    public void start(Acceptor acceptor) {
      this.acceptor = acceptor;
    }

    @Override
    public void pause(String reason) {}

    @Override
    public void resume() {}

    @Override
    public void stop(Duration patience) {
      stops.incrementAndGet();
    }

    Disposition pour(Envelope envelope) {
      Acceptor open = acceptor;
      if (open == null) {
        throw new IllegalStateException("not started");
      }
      return open.accept(List.of(envelope)).get(0);
    }
  }

  @Test
  void aDirectChannelWithASourceBringsBackWhatAHandlerFailedOn() {
    AtomicInteger failures = new AtomicInteger(1);
    Tap tap = new Tap();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(String.class)
            .handle("first", handled::add)
            .handle(
                "second",
                text -> {
                  if (failures.getAndDecrement() > 0) {
                    throw new IllegalStateException("down");
                  }
                  handled.add("second " + text);
                })
            .build();
    try (RunningInbox running =
        Pigeonhole.of().direct(clicks, tap).listener(events).build().start()) {
      Disposition first = tap.pour(envelope("m-1", "x"));
      assertThat(first).isInstanceOf(Disposition.Later.class);
      assertThat(((Disposition.Later) first).reason()).contains("'second'", "down");
      assertThat(tap.pour(envelope("m-1", "x"))).isEqualTo(DONE);
      assertThat(running.healthy()).isTrue();
    }
    assertThat(handled).containsExactly("x", "x", "second x");
    assertThat(events.of(InboxEvent.DirectFailed.class)).hasSize(1);
    assertThat(tap.stops).hasValue(1);
  }

  @Test
  void whatADirectHandlerNeverTakesIsRefused() {
    Tap tap = new Tap();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(String.class)
            .handle(
                "never",
                text -> {
                  throw new PoisonException("no such account");
                })
            .build();
    try (RunningInbox running =
        Pigeonhole.of().direct(clicks, tap).listener(events).build().start()) {
      assertThat(code(tap.pour(envelope("m-1", "x")))).isEqualTo(ErrorCode.HANDLER_POISONED);
      assertThat(code(tap.pour(envelope(null, "x")))).isEqualTo(ErrorCode.ID_MISSING);
      Envelope unknown = envelope("m-2", "x").toBuilder().type("other").build();
      assertThat(code(tap.pour(unknown))).isEqualTo(ErrorCode.TYPE_UNHANDLED);
      Envelope untyped = envelope("m-2", "x").toBuilder().type(null).build();
      assertThat(code(tap.pour(untyped))).isEqualTo(ErrorCode.TYPE_MISSING);
      assertThat(running.healthy()).isTrue();
    }
    assertThat(events.of(InboxEvent.Rejected.class))
        .extracting(InboxEvent.Rejected::code)
        .containsExactly(ErrorCode.ID_MISSING, ErrorCode.TYPE_UNHANDLED, ErrorCode.TYPE_MISSING);
  }

  @Test
  void sourcesOfDirectChannelsStopWithTheApplication() {
    Tap tap = new Tap();
    Channel clicks =
        Channel.named("clicks").direct().on(String.class).handle("d", handled::add).build();
    Inbox inbox = inbox(plain(Channel.named("c")));
    RunningInbox running = Pigeonhole.of(inbox).direct(clicks, tap).build().start();
    running.close();
    running.close();

    assertThat(tap.stops).hasValue(1);
    assertThat(running.healthy()).isFalse();
  }

  @Test
  void sourcesOfDirectChannelsStartOnceUntilTheyAreClosed() {
    Tap tap = new Tap();
    Channel clicks =
        Channel.named("clicks").direct().on(String.class).handle("d", handled::add).build();
    Pigeonhole app = Pigeonhole.of().direct(clicks, tap).build();
    RunningInbox running = app.start();

    assertThatThrownBy(app::start).hasMessageContaining("PH-RUN-02");
    running.close();
    app.start().close();
    assertThat(tap.stops).hasValue(2);
  }

  @Test
  void whatADirectChannelHasNoHandlerForIsRefused() {
    Tap tap = new Tap();
    Channel clicks = Channel.named("clicks").direct().on(String.class).build();
    try (RunningInbox running = Pigeonhole.of().direct(clicks, tap).build().start()) {
      assertThat(code(tap.pour(envelope("m-1", "x")))).isEqualTo(ErrorCode.TYPE_UNHANDLED);
      assertThat(running.healthy()).isTrue();
    }
  }

  @Test
  void aSourceOfADirectChannelThatCannotStartStopsWhatHasStarted() {
    Tap tap = new Tap();
    MessageSource broken =
        new MessageSource() {
          @Override
          public String name() {
            return "broken";
          }

          @Override
          public void start(Acceptor acceptor) {
            throw new IllegalStateException("no water");
          }

          @Override
          public void pause(String reason) {}

          @Override
          public void resume() {}

          @Override
          public void stop(Duration patience) {}
        };
    Channel clicks =
        Channel.named("clicks").direct().on(String.class).handle("d", handled::add).build();
    Inbox inbox = inbox(plain(Channel.named("c")));
    Pigeonhole app = Pigeonhole.of(inbox).direct(clicks, tap, broken).build();

    assertThatThrownBy(app::start).hasMessage("no water");
    assertThat(tap.stops).hasValue(1);
    try (RunningInbox again = inbox.start()) { // it had been stopped, too
      assertThat(again.healthy()).isTrue();
    }
  }

  @Test
  void whatSomeGiveUpAndOthersMayStillDoIsForLater() {
    AtomicInteger failures = new AtomicInteger(1);
    Tap tap = new Tap();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(String.class)
            .handle(
                "never",
                text -> {
                  throw new PoisonException("no such account");
                })
            .handle(
                "perhaps",
                text -> {
                  if (failures.getAndDecrement() > 0) {
                    throw new IllegalStateException("down\nfor a while");
                  }
                })
            .build();
    try (RunningInbox running = Pigeonhole.of().direct(clicks, tap).build().start()) {
      Disposition first = tap.pour(envelope("m-1", "x"));
      assertThat(first)
          .isInstanceOfSatisfying(
              Disposition.Later.class,
              later ->
                  assertThat(later.reason())
                      .startsWith("PH-HND-01: Handler 'perhaps'")
                      .doesNotContain("\n"));
      assertThat(tap.pour(envelope("m-1", "x")))
          .isInstanceOfSatisfying(
              Disposition.Refused.class,
              refused -> assertThat(refused.reason()).startsWith("PH-HND-04: Handler 'never'"));
      assertThat(running.healthy()).isTrue();
    }
  }

  @Test
  void contentThatCannotBeReadIsRefused() {
    Tap tap = new Tap();
    Channel clicks =
        Channel.named("clicks").direct().on(String.class).handle("d", handled::add).build();
    try (RunningInbox running = Pigeonhole.of().direct(clicks, tap).build().start()) {
      Envelope broken =
          envelope("m-1", "x").toBuilder().body(new byte[] {(byte) 0xC3, 0x28}).build();
      assertThat(tap.pour(broken)).isInstanceOf(Disposition.Refused.class);
      assertThat(code(tap.pour(broken)).text()).startsWith("PH-PAY-");
      assertThat(running.healthy()).isTrue();
    }
  }
}
