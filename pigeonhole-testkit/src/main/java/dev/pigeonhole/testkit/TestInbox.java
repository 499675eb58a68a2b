package dev.pigeonhole.testkit;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.MessageSelection;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.Page;
import dev.pigeonhole.store.InboxStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * An inbox for tests: no threads, no waiting, and time moves when it is told to.
 *
 * <pre>{@code
 * var inbox = TestInbox.of(orders);
 * mailer.failTimes(1);
 *
 * inbox.receive("m-1", new OrderPlaced("o-1"));
 * inbox.drain();
 * assertThat(inbox).delivery("m-1", "send-receipt").hasFailedTimes(1);
 *
 * inbox.advance(ofSeconds(2)).drain();
 * assertThat(inbox).delivery("m-1", "send-receipt").isCompleted();
 * }</pre>
 *
 * <p>The engine is the real one; only the store lives in memory, unless {@link #on} is given
 * another. A test that wants the threads too calls {@link #start()} and waits with {@link #await}.
 *
 * <p>Needs neither JUnit nor AssertJ. With AssertJ, {@link TestInboxAssertions} reads as above;
 * with JUnit, {@link TestInboxExtension} gives each test its own.
 */
public final class TestInbox implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Set<String> ENDINGS = Set.of("complete", "discard");

  private final @Nullable InboxStore store; // null: somebody else builds the inbox
  private final TestClock clock;
  private final List<Channel> channels;
  private final List<UnaryOperator<InboxBuilder>> options = new ArrayList<>();
  private final Arrivals arrivals = new Arrivals();
  private final Supplier<Inbox> maker;
  private Duration patience = PATIENCE;
  private @Nullable Inbox inbox;
  private @Nullable RunningInbox running;

  private TestInbox(InboxStore store, TestClock clock, Channel first, Channel... more) {
    this.store = store;
    this.clock = clock;
    this.channels = new ArrayList<>(List.of(more));
    this.channels.add(0, first);
    this.maker = () -> build(store);
  }

  private TestInbox(Supplier<Inbox> maker, TestClock clock) {
    this.store = null;
    this.clock = clock;
    this.channels = List.of();
    this.maker = maker;
  }

  /** On a memory store and a clock of its own. */
  public static TestInbox of(Channel first, Channel... more) {
    TestClock clock = new TestClock();
    return on(MemoryStore.create().clock(clock), clock, first, more);
  }

  /**
   * On a store of your own, which several may share to play the nodes of a cluster.
   *
   * @param clock what {@link #advance} moves; the store must go by it
   */
  public static TestInbox on(InboxStore store, TestClock clock, Channel first, Channel... more) {
    return new TestInbox(store, clock, first, more);
  }

  /**
   * Around an inbox that somebody else builds, such as a framework. It sees every message that the
   * store has, whoever has accepted it.
   *
   * @param inbox is asked once, with the first use
   * @param clock what {@link #advance} moves; the store of the inbox must go by it
   */
  public static TestInbox around(Supplier<Inbox> inbox, TestClock clock) {
    return new TestInbox(inbox, clock);
  }

  /**
   * Sets options of the inbox: {@code TestInbox.of(orders).with(inbox -> inbox.retry(patiently))}.
   * May be called several times, before anything else is done.
   *
   * @throws IllegalStateException after that, and where somebody else builds the inbox
   */
  public synchronized TestInbox with(UnaryOperator<InboxBuilder> option) {
    if (store == null) {
      throw new IllegalStateException("Options are for whoever builds the inbox of this test.");
    }
    if (inbox != null) {
      throw new IllegalStateException("Options come before the first use of a test inbox.");
    }
    options.add(option);
    return this;
  }

  /**
   * How long {@link #await} waits at most. Default 1 minute: only a test that fails waits for it.
   */
  public synchronized TestInbox patience(Duration longest) {
    patience = longest;
    return this;
  }

  /** The inbox itself, built with the first use. */
  public synchronized Inbox inbox() {
    Inbox built = inbox;
    if (built == null) {
      built = maker.get();
      inbox = built;
    }
    return built;
  }

  private Inbox build(InboxStore on) {
    InboxBuilder builder = Inbox.on(on).listener(arrivals);
    channels.forEach(builder::channel);
    for (UnaryOperator<InboxBuilder> option : options) {
      builder = option.apply(builder);
    }
    return builder.build();
  }

  /** What {@link #advance} moves. */
  public TestClock clock() {
    return clock;
  }

  /**
   * What the inbox is built on; give it to {@link #on} for another node.
   *
   * @throws IllegalStateException if somebody else builds the inbox: only he knows
   */
  public InboxStore store() {
    if (store == null) {
      throw new IllegalStateException("Whoever builds the inbox of this test has its store.");
    }
    return store;
  }

  /**
   * Accepts a payload under this id in the only channel.
   *
   * @throws IllegalStateException if there are several channels, or somebody else builds the inbox:
   *     name one
   */
  public Acceptance receive(@Nullable String id, Object payload) {
    if (channels.size() != 1) {
      throw new IllegalStateException(
          "This inbox %s; say which with receive(channel, Message.of(id, …))."
              .formatted(
                  channels.isEmpty() ? "has its channels from elsewhere" : "has several channels"));
    }
    return receive(channels.get(0).name(), Message.of(id, payload));
  }

  /** Accepts a message in this channel. */
  public Acceptance receive(String channel, Message message) {
    return inbox().accept(channel, message);
  }

  /** Runs everything that is due, on this thread, and answers how many attempts that took. */
  public int drain() {
    return inbox().drain();
  }

  /** Moves the clock; what has become due runs with the next {@link #drain}, or by itself. */
  public TestInbox advance(Duration duration) {
    clock.advance(duration);
    inbox().wake();
    return this;
  }

  // ---- with threads

  /** Handles messages in the background, until {@link #close()}. */
  public synchronized TestInbox start() {
    running = inbox().start();
    return this;
  }

  /** Stops what {@link #start()} began; harmless without it. */
  @Override
  public void close() {
    RunningInbox stopping;
    synchronized (this) {
      stopping = running;
      running = null;
    }
    if (stopping != null) {
      stopping.close();
    }
  }

  /**
   * Waits until this delivery is in this state.
   *
   * @throws AssertionError if it does not get there in time; shows every delivery as it stands
   */
  public TestInbox await(String id, String handler, DeliveryState state) {
    return await(
        "the delivery of '%s' to '%s' to be %s".formatted(id, handler, state),
        () -> find(id, handler).filter(view -> view.state() == state).isPresent());
  }

  /** Waits until nothing is open: everything is completed or poisoned. */
  public TestInbox awaitDrained() {
    return await("every delivery to end", () -> open() == 0);
  }

  /**
   * Waits until the condition holds.
   *
   * @param what completes the sentence "Waited 60 s in vain for …"
   * @throws AssertionError if it does not hold in time; shows every delivery as it stands
   */
  public TestInbox await(String what, BooleanSupplier condition) {
    Duration longest;
    synchronized (this) {
      longest = patience;
    }
    Patience.await(longest, what, condition, this::describe);
    return this;
  }

  // ---- seeing

  /**
   * The delivery of this message to this handler, by current or former key.
   *
   * @param id of a message that this inbox has accepted, whatever its source
   * @throws AssertionError if two sources have sent this id, or nobody has a handler of this key
   */
  public Optional<DeliveryView> find(String id, String handler) {
    List<MessageRef> found =
        messages().stream().filter(message -> message.id().equals(id)).toList();
    if (found.size() > 1) {
      throw new AssertionError("Several messages have the id '%s': %s.".formatted(id, found));
    }
    if (handlers().stream().noneMatch(handler::equals)) {
      throw new AssertionError(
          "There is no handler key '%s'. There are: %s."
              .formatted(handler, String.join(", ", handlers())));
    }
    return found.isEmpty() ? Optional.empty() : find(found.get(0), handler);
  }

  /** The delivery of exactly this message to this handler. */
  public Optional<DeliveryView> find(MessageRef message, String handler) {
    return inbox().find(message.source(), message.id(), handler);
  }

  /**
   * Every delivery of every message that this inbox has accepted, in order of receipt. Around an
   * inbox that somebody else builds, of every message that its store has.
   */
  public List<DeliveryView> deliveries() {
    List<String> handlers = handlers();
    return messages().stream()
        .flatMap(message -> handlers.stream().flatMap(key -> find(message, key).stream()))
        .distinct() // a former key finds what the current one has found
        .toList();
  }

  private List<MessageRef> messages() {
    return store == null ? stored() : arrivals.messages();
  }

  /** All that the store has; it lists the newest first. */
  private List<MessageRef> stored() {
    MessageSelection all = inbox().admin().messages();
    List<MessageRef> messages = new ArrayList<>();
    Page<MessageView> page = all.first(Page.MOST);
    while (true) {
      page.items().forEach(each -> messages.add(each.message()));
      if (page.next().isEmpty()) {
        Collections.reverse(messages);
        return messages;
      }
      page = all.after(page.next().get(), Page.MOST);
    }
  }

  /** How many deliveries are neither completed nor poisoned. */
  public long open() {
    return inbox().admin().counts().stream().mapToLong(it -> it.open().value()).sum();
  }

  /** Whether an operator's word was the last that was said of it. */
  boolean endedByHand(DeliveryView view) {
    String subject = "%s for handler '%s'".formatted(view.message(), view.handler());
    return inbox().admin().audit(InboxAdmin.MOST_LISTED).stream()
        .filter(entry -> entry.subject().startsWith(subject))
        .findFirst()
        .filter(newest -> ENDINGS.contains(newest.action()))
        .isPresent();
  }

  private List<String> handlers() {
    return inbox().admin().counts().stream().map(HandlerCounts::handler).toList();
  }

  /** Every delivery as it stands, and what was rejected: for messages of failed assertions. */
  String describe() {
    StringBuilder text = new StringBuilder("It is " + clock.now() + ", and there are:");
    List<DeliveryView> views = deliveries();
    views.forEach(view -> text.append("\n  ").append(describe(view)));
    if (views.isEmpty()) {
      text.append("\n  no deliveries");
    }
    arrivals.rejected().forEach(reason -> text.append("\n  rejected: ").append(reason));
    return text.toString();
  }

  static String describe(DeliveryView view) {
    StringBuilder text = new StringBuilder();
    text.append(view.message()).append(" to ").append(view.handler());
    text.append(": ").append(view.state());
    view.due().ifPresent(due -> text.append(", due ").append(due));
    text.append(", ").append(view.failures()).append(" failures");
    if (view.crashes() > 0) {
      text.append(", ").append(view.crashes()).append(" crashes");
    }
    if (view.releases() > 0) {
      text.append(", ").append(view.releases()).append(" releases");
    }
    view.lastFailure()
        .ifPresent(
            failure ->
                text.append(", last: ")
                    .append(failure.code().text())
                    .append(' ')
                    .append(failure.type())
                    .append(": ")
                    .append(failure.message()));
    return text.toString();
  }

  @Override
  public String toString() {
    return store == null
        ? "TestInbox around another"
        : "TestInbox of " + channels.stream().map(Channel::name).toList();
  }
}
