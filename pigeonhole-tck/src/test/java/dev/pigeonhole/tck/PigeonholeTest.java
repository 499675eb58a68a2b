package dev.pigeonhole.tck;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.within;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.Published;
import dev.pigeonhole.Received;
import dev.pigeonhole.Requirement;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.testkit.MemoryStore;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Several inboxes and direct channels as one application. */
class PigeonholeTest {
  record Click(String page) {}

  record Order(String id) {}

  /** A payload that handlers can change. */
  static final class Note {
    String text;

    Note(String text) {
      this.text = text;
    }
  }

  /** Text for anything these tests use. */
  static final class NoteCodec implements PayloadCodec {
    @Override
    public String contentType() {
      return "text/plain";
    }

    @Override
    public byte[] encode(Object payload) {
      String text =
          payload instanceof Note note
              ? note.text
              : payload instanceof Order order ? order.id() : ((Click) payload).page();
      return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      String text = new String(content == null ? new byte[0] : content, StandardCharsets.UTF_8);
      Object value =
          type == Note.class
              ? new Note(text)
              : type == Order.class ? new Order(text) : new Click(text);
      return type.cast(value);
    }
  }

  private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();

  private Inbox inbox(InboxStore store, String name, Channel... channels) {
    var builder = Inbox.on(store).named(name).codec(new NoteCodec());
    for (Channel channel : channels) {
      builder.channel(channel);
    }
    return builder.build();
  }

  private Channel orders(String channel, String key) {
    return Channel.named(channel)
        .on(Order.class)
        .handle(key, order -> seen.add(key + ":" + order.id()))
        .build();
  }

  private static ConfigurationException refusal(Supplier<?> building) {
    return catchThrowableOfType(ConfigurationException.class, building::get);
  }

  // ---- direct channels

  @Test
  void b11_anApplicationWithoutInboxRunsItsHandlersAtOnce() {
    Thread caller = Thread.currentThread();
    List<Thread> threads = new ArrayList<>();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(Click.class)
            .handle("count", click -> threads.add(Thread.currentThread()))
            .handle("log", click -> seen.add(click.page()))
            .build();
    Pigeonhole app = Pigeonhole.of().direct(clicks).build();

    Published first = app.publish(Message.of("m-1", new Click("home")));
    app.publish(Message.of("m-1", new Click("home")));

    assertThat(first.answers()).isEmpty();
    assertThat(threads).containsExactly(caller, caller);
    assertThat(seen).containsExactly("home", "home"); // nothing remembers the first
  }

  @Test
  void aDirectHandlerSeesAFirstAttemptWithoutRetries() {
    List<Received<Click>> all = new ArrayList<>();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(Click.class)
            .named("page.clicked")
            .orderedBy(Click::page)
            .handleMessage(HandlerKey.of("count").formerly("counter"), all::add)
            .build();
    Instant occurred = Instant.parse("2024-05-01T10:00:00Z");
    Pigeonhole.of()
        .direct(clicks)
        .build()
        .publish(
            Message.of("m-1", new Click("home")).header("tenant", "acme").occurredAt(occurred));

    Received<Click> received = all.get(0);
    assertThat(received.payload()).isEqualTo(new Click("home"));
    assertThat(received.message()).isEqualTo(new MessageRef("clicks", "m-1"));
    assertThat(received.type()).isEqualTo("page.clicked");
    assertThat(received.handler()).isEqualTo("count");
    assertThat(received.headers().text("tenant")).contains("acme");
    assertThat(received.attempt()).isEqualTo(1);
    assertThat(received.previousFailure()).isEmpty();
    assertThat(received.occurredAt()).contains(occurred);
    assertThat(received.orderingKey()).contains("home");
    assertThat(received.idempotencyKey()).hasSize(36);
    assertThat(received.timeLeft()).isEmpty();
    assertThat(received.stopRequested()).isFalse();
    assertThat(received.laneToken()).isZero();
    assertThat(received.receivedAt()).isNotNull();
  }

  @Test
  void aFailingDirectHandlerStopsNobodyAndListenersHearOfIt() {
    List<InboxEvent> events = new ArrayList<>();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(Click.class)
            .handle(
                "broken",
                click -> {
                  throw new IllegalStateException("no \0 disk");
                })
            .handle(
                "linked",
                click -> {
                  throw new NoClassDefFoundError("gone");
                })
            .handle("fine", click -> seen.add(click.page()))
            .build();
    Channel second =
        Channel.named("second")
            .direct()
            .on(Click.class)
            .handle("also-fine", click -> seen.add(click.page()))
            .build();
    Pigeonhole app =
        Pigeonhole.of()
            .direct(clicks)
            .direct(second)
            .listener(
                event -> {
                  throw new IllegalStateException("a bad listener");
                })
            .listener(events::add)
            .build();

    Published published = app.publish(Message.of("m-1", new Click("home")));

    assertThat(seen).containsExactly("home", "home");
    assertThat(published.anyRejected()).isFalse();
    InboxEvent.DirectFailed failed = (InboxEvent.DirectFailed) events.get(0);
    assertThat(failed.channel()).isEqualTo("clicks");
    assertThat(failed.handler()).isEqualTo("broken");
    assertThat(failed.message()).isEqualTo(new MessageRef("clicks", "m-1"));
    assertThat(failed.failure().message()).isEqualTo("no \\u0000 disk");
    assertThat(events.get(1)).isInstanceOf(InboxEvent.DirectFailed.class);
    assertThat(events.subList(2, 4)).allMatch(InboxEvent.Completed.class::isInstance);
  }

  @Test
  void anInterruptThatADirectHandlerSwallowedReachesTheCaller() {
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(Click.class)
            .handle(
                "sleepy",
                click -> {
                  throw new InterruptedException("woken");
                })
            .build();

    Pigeonhole.of().direct(clicks).build().publish(Message.of("m-1", new Click("home")));

    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void eachDirectHandlerGetsItsOwnCopyOfWhatCanBeChanged() {
    Note note = new Note("original");
    Channel notes =
        Channel.named("notes")
            .direct()
            .on(Note.class)
            .handle(
                "scribble",
                own -> {
                  seen.add(own.text);
                  own.text = "scribbled";
                })
            .handle("read", own -> seen.add(own.text))
            .build();

    Pigeonhole.of().direct(notes).codec(new NoteCodec()).build().publish(Message.of("m-1", note));

    assertThat(seen).containsExactly("original", "original");
    assertThat(note.text).isEqualTo("original");
  }

  @Test
  void whatCanBeChangedNeedsACodecAndWhatCannotDoesNot() {
    Channel notes = Channel.named("notes").direct().on(Note.class).handle("a", own -> {}).build();

    ConfigurationException refused = refusal(Pigeonhole.of().direct(notes)::build);

    assertThat(refused.code()).isEqualTo(ErrorCode.PAYLOAD_TYPE_REFUSED);
    assertThat(refused).hasMessageContaining("'notes'").hasMessageContaining(Note.class.getName());
  }

  @Test
  void encodedMessagesAreDecodedForEachDirectHandler() {
    List<byte[]> bodies = new ArrayList<>();
    Channel raw =
        Channel.named("raw")
            .direct()
            .on(byte[].class)
            .named("blob")
            .handle(
                "first",
                body -> {
                  bodies.add(body.clone());
                  body[0] = 9;
                })
            .handle("second", body -> bodies.add(body.clone()))
            .build();

    Pigeonhole.of()
        .direct(raw)
        .build()
        .publish(Message.encoded("m-1", "blob", new byte[] {1, 2}, "application/octet-stream"));

    assertThat(bodies).containsExactly(new byte[] {1, 2}, new byte[] {1, 2});
  }

  @Test
  void aMessageThatADirectChannelCannotTakeIsAnsweredAsRejected() {
    List<InboxEvent.Rejected> told = new ArrayList<>();
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .on(Click.class)
            .handle("count", click -> seen.add("ran"))
            .build();
    Pigeonhole app =
        Pigeonhole.of()
            .direct(clicks)
            .listener(InboxListener.create().onRejected(told::add))
            .build();

    Published blank = app.publish(Message.of(" ", new Click("home")));
    Published waiting =
        app.publish(
            Message.of("m-1", new Click("home"))
                .notBefore(Instant.now().plus(Duration.ofHours(1))));

    assertThat(seen).isEmpty();
    assertThat(blank.anyRejected()).isTrue();
    assertThat(codes(blank)).containsExactly(ErrorCode.ID_BLANK);
    assertThat(codes(waiting)).containsExactly(ErrorCode.OPTION_NOT_APPLICABLE);
    assertThat(told).hasSize(2);
  }

  private static List<ErrorCode> codes(Published published) {
    return published.acceptances().stream()
        .map(each -> ((Acceptance.Rejected) each).code())
        .toList();
  }

  // ---- publishing

  @Test
  void aMessageGoesToEveryChannelThatTakesIt() {
    Inbox shop = inbox(MemoryStore.create(), "shop", orders("orders", "reserve"));
    Inbox ship = inbox(MemoryStore.create(), "ship", orders("parcels", "pack"));
    Channel direct =
        Channel.named("live")
            .direct()
            .on(Order.class)
            .handle("show", order -> seen.add("show:" + order.id()))
            .build();
    Pigeonhole app = Pigeonhole.of(shop, ship).direct(direct).build();

    Published first = app.publish(Message.of("m-1", new Order("o-1")));
    Published again = app.publish(Message.of("m-1", new Order("o-1")));

    assertThat(seen).containsExactly("show:o-1", "show:o-1"); // stored ones wait for their engine
    assertThat(first.answers())
        .containsExactly(
            new Published.Answer(
                "shop", "orders", new Acceptance.Accepted(new MessageRef("orders", "m-1"))),
            new Published.Answer(
                "ship", "parcels", new Acceptance.Accepted(new MessageRef("parcels", "m-1"))));
    assertThat(again.acceptances()).allMatch(Acceptance.Repeat.class::isInstance);
    assertThat(shop.drain()).isEqualTo(1);
    assertThat(ship.drain()).isEqualTo(1);
    assertThat(seen).contains("reserve:o-1", "pack:o-1");
  }

  @Test
  void aTypeThatNobodyTakesIsRefusedNamingTypeAndChannels() {
    Inbox shop = inbox(MemoryStore.create(), "shop", orders("orders", "reserve"));
    Channel clicks = Channel.named("live").direct().on(Click.class).handle("c", c -> {}).build();
    Pigeonhole app = Pigeonhole.of(shop).direct(clicks).build();

    assertThatThrownBy(() -> app.publish(Message.of("m-1", 42)))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.TYPE_NOT_REGISTERED))
        .hasMessageContaining("java.lang.Integer")
        .hasMessageContaining("'orders' of inbox 'shop'")
        .hasMessageContaining("'live' (direct)");
    assertThatThrownBy(
            () -> app.publish(Message.encoded("m-1", "what\nis.this", new byte[0], "text/plain")))
        .hasMessageContaining("what\\u000Ais.this");
  }

  @Test
  void oneSourceReachesTheHandlersOfTwoChannelsOfOneInboxOnceEach() {
    Inbox shop =
        inbox(MemoryStore.create(), "shop", orders("orders", "reserve"), orders("audit", "log"));
    Pigeonhole app = Pigeonhole.of(shop).build();

    Published published = app.publish(Message.of("m-1", new Order("o-1")).from("checkout"));

    assertThat(published.acceptances().get(0)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(published.acceptances().get(1)).isInstanceOf(Acceptance.Repeat.class);
    assertThat(shop.drain()).isEqualTo(2);
    assertThat(seen).containsExactlyInAnyOrder("reserve:o-1", "log:o-1");
  }

  @Test
  void aStoreThatIsDownIsToldAfterTheOthersWereAskedAndBeforeAnythingDirectRuns() {
    Faulty down = new Faulty(MemoryStore.create());
    Inbox shop = inbox(down, "shop", orders("orders", "reserve"));
    Inbox ship = inbox(MemoryStore.create(), "ship", orders("parcels", "pack"));
    Channel direct =
        Channel.named("live").direct().on(Order.class).handle("show", o -> seen.add("s")).build();
    Pigeonhole app = Pigeonhole.of(shop, ship).direct(direct).build();
    down.accepting = false;

    assertThatThrownBy(() -> app.publish(Message.of("m-1", new Order("o-1"))))
        .isInstanceOf(StoreException.class);
    assertThat(seen).isEmpty();
    down.accepting = true;
    Published again = app.publish(Message.of("m-1", new Order("o-1")));

    assertThat(again.acceptances().get(0)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(again.acceptances().get(1)).isInstanceOf(Acceptance.Repeat.class);
    assertThat(seen).containsExactly("s");
  }

  // ---- running

  @Test
  void startsAndStopsAllInboxesTogether() throws Exception {
    CountDownLatch both = new CountDownLatch(2);
    List<String> stops = new ArrayList<>();
    Inbox shop = inbox(MemoryStore.create(), "shop", counting("orders", "reserve", both));
    Inbox ship = inbox(MemoryStore.create(), "ship", counting("parcels", "pack", both));
    Pigeonhole app = Pigeonhole.of(shop, ship).build();

    RunningInbox running = app.start();
    assertThat(running.healthy()).isTrue();
    app.publish(Message.of("m-1", new Order("o-1")));
    assertThat(both.await(300, TimeUnit.SECONDS)).isTrue();
    Thread waiting =
        new Thread(
            () -> {
              try {
                running.awaitStopped();
                stops.add("stopped");
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    waiting.start();
    running.close();
    running.close();
    waiting.join();

    assertThat(stops).containsExactly("stopped");
    assertThat(running.healthy()).isFalse();
    shop.start().close(); // neither is running any more
    ship.start().close();
  }

  private static Channel counting(String channel, String key, CountDownLatch latch) {
    return Channel.named(channel).on(Order.class).handle(key, order -> latch.countDown()).build();
  }

  @Test
  void stopsWhatWasStartedIfOneCannotStart() {
    Faulty down = new Faulty(MemoryStore.create());
    Inbox shop = inbox(MemoryStore.create(), "shop", orders("orders", "reserve"));
    Inbox ship = inbox(down, "ship", orders("parcels", "pack"));
    Pigeonhole app = Pigeonhole.of(shop, ship).build();
    down.joining = false;

    assertThatThrownBy(app::start).isInstanceOf(StoreException.class);

    shop.start().close(); // would refuse if it were still running
    down.joining = true;
    app.start().close();
  }

  @Test
  void anApplicationWithoutInboxCanBeStartedAndWaitedFor() throws Exception {
    Channel clicks = Channel.named("live").direct().on(Click.class).handle("c", c -> {}).build();
    RunningInbox running = Pigeonhole.of().direct(clicks).build().start();
    assertThat(running.healthy()).isTrue();

    running.close();
    running.awaitStopped();

    assertThat(running.healthy()).isFalse();
  }

  @Test
  void b73_eachStoreHasItsOwnInboxAndTwoChannelsShareOne() {
    MemoryStore first = MemoryStore.create();
    MemoryStore second = MemoryStore.create();
    Inbox shop = inbox(first, "shop", orders("orders", "reserve"), orders("returns", "refund"));
    Inbox ship =
        Inbox.on(second)
            .named("ship")
            .codec(new NoteCodec())
            .retry(RetryPolicy.defaults().maxAttempts(1))
            .channel(
                Channel.named("parcels")
                    .on(Order.class)
                    .handle(
                        "pack",
                        order -> {
                          throw new IllegalStateException("no boxes");
                        })
                    .build())
            .build();
    Pigeonhole app = Pigeonhole.of(shop, ship).build();

    app.publish(Message.of("m-1", new Order("o-1")));

    assertThat(shop.drain()).isEqualTo(2); // both channels, one engine, the other store untouched
    assertThat(seen).containsExactlyInAnyOrder("reserve:o-1", "refund:o-1");
    assertThat(shop.admin().poisoned(10)).isEmpty();
    assertThat(ship.drain()).isEqualTo(1);
    assertThat(ship.admin().poisoned(10)).hasSize(1);
  }

  // ---- rules over everything

  @Test
  void b25_handlerKeysAreUniqueOverInboxesAndDirectChannels() {
    Inbox shop = inbox(MemoryStore.create(), "shop", orders("orders", "reserve"));
    Inbox ship = inbox(MemoryStore.create(), "ship", orders("orders", "reserve"));

    ConfigurationException twice = refusal(Pigeonhole.of(shop, ship)::build);

    assertThat(twice.code()).isEqualTo(ErrorCode.HANDLER_KEY_TWICE);
    assertThat(twice)
        .hasMessageContaining("'reserve'")
        .hasMessageContaining("channel 'orders' on " + Order.class.getName() + " in inbox 'shop'")
        .hasMessageContaining("channel 'orders' on " + Order.class.getName() + " in inbox 'ship'");
  }

  @Test
  void b26_formerKeysAndCaseAndTypeNamesAreCheckedOverAllAndReportedTogether() {
    Inbox shop = inbox(MemoryStore.create(), "shop", orders("orders", "reserve"));
    Channel live =
        Channel.named("live")
            .direct()
            .on(Click.class)
            .named("Order")
            .handle(HandlerKey.of("count").formerly("reserve"), click -> {})
            .handle("RESERVE", click -> {})
            .build();

    ConfigurationException refused = refusal(Pigeonhole.of(shop).direct(live)::build);

    assertThat(refused.problems())
        .extracting(ConfigurationException.Problem::code)
        .containsExactlyInAnyOrder(
            ErrorCode.TYPE_NAME_TAKEN,
            ErrorCode.FORMER_KEY_TAKEN,
            ErrorCode.HANDLER_KEYS_DIFFER_BY_CASE);
    assertThat(refused)
        .hasMessageContaining("direct channel 'live'")
        .hasMessageContaining("in inbox 'shop'");
  }

  @Test
  void twoInboxesNeedTwoNames() {
    Inbox shop = inbox(MemoryStore.create(), "inbox", orders("orders", "reserve"));
    Inbox ship = inbox(MemoryStore.create(), "inbox", orders("parcels", "pack"));

    assertThat(refusal(Pigeonhole.of(shop, ship)::build).code()).isEqualTo(ErrorCode.INBOX_TAKEN);
    assertThat(refusal(Pigeonhole.of(shop, shop)::build).code()).isEqualTo(ErrorCode.INBOX_TAKEN);
  }

  @Test
  void anEmptyApplicationAndAStoredChannelWithoutInboxAreRefused() {
    assertThat(refusal(Pigeonhole.of()::build).code()).isEqualTo(ErrorCode.NOTHING_CONFIGURED);
    Channel stored = Channel.named("live").on(Click.class).handle("c", click -> {}).build();
    assertThat(refusal(Pigeonhole.of().direct(stored)::build).code())
        .isEqualTo(ErrorCode.OPTION_NOT_APPLICABLE);
    Channel direct = Channel.named("live").direct().on(Click.class).handle("c", c -> {}).build();
    assertThat(
            refusal(Inbox.on(MemoryStore.create()).channel(direct).codec(new NoteCodec())::build))
        .hasMessageContaining("Pigeonhole.of(…).direct(…)");
  }

  @Test
  void b32_anInboxCanBeRequiredAndAChannelCanOptOut() {
    Channel plain = Channel.named("live").direct().on(Click.class).handle("c", c -> {}).build();
    Channel meant =
        Channel.named("live").direct().withoutInbox().on(Click.class).handle("c", c -> {}).build();

    ConfigurationException refused =
        refusal(Pigeonhole.of().direct(plain).requireInbox(Requirement.FAIL)::build);

    assertThat(refused.code()).isEqualTo(ErrorCode.INBOX_REQUIRED);
    assertThat(refused).hasMessageContaining("'live'").hasMessageContaining(".withoutInbox()");
    for (Requirement each : Requirement.values()) {
      Pigeonhole.of().direct(meant).requireInbox(each).build();
    }
    Pigeonhole.of().direct(plain).requireInbox(Requirement.WARN).build();
    Pigeonhole.of().direct(plain).build();
  }

  @Test
  void theOptOutPassesNoHardRuleBy() {
    Channel direct =
        Channel.named("live")
            .direct()
            .withoutInbox()
            .on(Click.class)
            .handleInTransaction("post", (click, tx) -> {})
            .handle("slow", click -> {}, within(Duration.ofSeconds(1)))
            .handle("again", click -> {}, retrying(RetryPolicy.defaults()))
            .build();

    ConfigurationException refused =
        refusal(Pigeonhole.of().direct(direct).requireInbox(Requirement.FAIL)::build);

    assertThat(refused.problems())
        .extracting(ConfigurationException.Problem::code)
        .containsExactly(
            ErrorCode.OPTION_NOT_APPLICABLE,
            ErrorCode.OPTION_NOT_APPLICABLE,
            ErrorCode.OPTION_NOT_APPLICABLE);
    assertThat(refused).hasMessageContaining("'post'").hasMessageContaining("transactional");
  }

  /** A store that fails where it is told to. */
  private static final class Faulty implements InboxStore {
    private final InboxStore real;
    boolean accepting = true;
    boolean joining = true;

    Faulty(InboxStore real) {
      this.real = real;
    }

    private <T> T unless(boolean up, T group) {
      if (!up) {
        throw new StoreException(
            StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "down", null);
      }
      return group;
    }

    @Override
    public Acceptor acceptor() {
      Acceptor group = real.acceptor();
      return new Acceptor() {
        @Override
        public List<dev.pigeonhole.store.AcceptResult> accept(
            List<dev.pigeonhole.store.NewMessage> batch) {
          return unless(accepting, group).accept(batch);
        }

        @Override
        public List<dev.pigeonhole.store.AcceptResult> accept(
            java.sql.Connection connection, List<dev.pigeonhole.store.NewMessage> batch) {
          return unless(accepting, group).accept(connection, batch);
        }
      };
    }

    @Override
    public Deliveries deliveries() {
      return real.deliveries();
    }

    @Override
    public Nodes nodes() {
      return unless(joining, real.nodes());
    }

    @Override
    public Maintenance maintenance() {
      return real.maintenance();
    }

    @Override
    public AdminQueries admin() {
      return real.admin();
    }

    @Override
    public Optional<Transactions> transactions() {
      return real.transactions();
    }

    @Override
    public InstantSource clock() {
      return real.clock();
    }
  }
}
