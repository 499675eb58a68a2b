package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.admin.DefaultAdmin;
import dev.pigeonhole.internal.dispatch.ConflictLog;
import dev.pigeonhole.internal.dispatch.Engine;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.dispatch.Failures;
import dev.pigeonhole.internal.dispatch.GroupAcceptor;
import dev.pigeonhole.internal.dispatch.HandOver;
import dev.pigeonhole.internal.dispatch.InlineHandlers;
import dev.pigeonhole.internal.dispatch.Intake;
import dev.pigeonhole.internal.prune.Pruner;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Outboxes;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.internal.registry.Rules;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.WakeUps;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Publisher;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one implementation of {@link Inbox}. */
public final class DefaultInbox implements Inbox {
  private static final Logger LOG = LoggerFactory.getLogger(DefaultInbox.class);

  private final InboxStore store;
  private final InboxSettings settings;
  private final List<ChannelSpec> channels;
  private final Registry registry;
  private final Payloads payloads;
  private final Events events;
  private final ConflictLog conflicts;
  private final Intake intake;
  private final Retention retention;
  private final GroupAcceptor acceptor;
  private final @Nullable WakeUps wakeUps;
  private final @Nullable InlineHandlers inline;

  private final ReentrantLock life = new ReentrantLock();
  private @Nullable RunningEngine running; // guarded by life
  private volatile @Nullable Engine engine; // the running one, for accepting threads

  private DefaultInbox(
      InboxStore store,
      InboxSettings settings,
      List<ChannelSpec> channels,
      Registry registry,
      Payloads payloads) {
    this.store = store;
    this.settings = settings;
    this.channels = channels;
    this.registry = registry;
    this.payloads = payloads;
    this.events = new Events(settings.name(), settings.listeners());
    this.conflicts = new ConflictLog(settings.name());
    this.intake =
        new Intake(
            registry,
            payloads,
            new Intake.Limits(
                settings.lanes(),
                settings.maxPayload(),
                settings.maxHeaders(),
                settings.maxHeaderBytes()),
            store.clock());
    this.retention = new Retention(settings.keep(), registry, settings.pruneListeners());
    this.acceptor = new GroupAcceptor(store.acceptor(), settings.batchSize());
    this.wakeUps = store.wakeUps().orElse(null);
    this.inline = inlineHandlers();
  }

  private @Nullable InlineHandlers inlineHandlers() {
    if (registry.handlers().stream().noneMatch(handler -> handler.spec().inline())) {
      return null;
    }
    Guards guards = store.guards().orElseThrow(() -> new IllegalStateException("no guards"));
    return new InlineHandlers(
        guards, payloads, events, settings.interceptors(), store.clock(), settings.outbox());
  }

  /** Checks everything and opens the store; called by the builder. */
  public static DefaultInbox open(
      InboxStore store, List<ChannelSpec> channels, InboxSettings.Draft draft) {
    List<ChannelSpec> specs = List.copyOf(channels);
    List<Problem> problems = new ArrayList<>(draft.problems());
    Rules rules = new Rules();
    rules.check(draft.name, specs, store.transactions().isPresent());
    problems.addAll(rules.problems());
    Payloads payloads = Payloads.using(draft.codec);
    for (ChannelSpec channel : specs) {
      checkForInbox(channel, payloads, problems);
    }
    if (specs.isEmpty()) {
      problems.add(
          new Problem(
              ErrorCode.NOTHING_CONFIGURED,
              "Inbox '%s' has no channel. Add one with .channel(…).".formatted(draft.name)));
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    InboxSettings settings = draft.freeze();
    Outboxes.check(settings.outbox(), store, "Inbox '" + settings.name() + "'");
    for (String warning : store.maintenance().open(storeSettings(settings, specs))) {
      LOG.warn("Inbox {}: {}", settings.name(), warning);
    }
    for (String warning : Rules.warnings(specs)) {
      LOG.warn("Inbox {}: {}", settings.name(), warning);
    }
    for (String warning : Horizons.warnings(settings, specs)) {
      LOG.warn("Inbox {}: {}", settings.name(), warning);
    }
    List<List<HandlerId>> ids = store.maintenance().register(Registry.families(specs));
    return new DefaultInbox(store, settings, specs, new Registry(specs, ids), payloads);
  }

  private static void checkForInbox(
      ChannelSpec channel, Payloads payloads, List<Problem> problems) {
    if (channel.direct()) {
      problems.add(
          new Problem(
              ErrorCode.OPTION_NOT_APPLICABLE,
              ("Channel '%s' is direct, so an inbox has nothing to do for it. Add it with"
                      + " Pigeonhole.of(…).direct(…).")
                  .formatted(channel.name())));
    }
    for (TypeSpec type : channel.types()) {
      if (!payloads.supports(type)) {
        problems.add(
            new Problem(
                ErrorCode.PAYLOAD_TYPE_REFUSED,
                "There is no codec for %s of channel '%s'. %s"
                    .formatted(type.type().getName(), channel.name(), payloads.lacking())));
      }
      problems.addAll(Rules.keyProblems(channel, type, payloads));
    }
  }

  /**
   * Connections at once: every slot of a transactional handler holds one; accept, reader and
   * settler take one each. The beat has its own, which the store counts. Counting the backlog,
   * pruning, and accepting large batches or a second group borrow one more for a moment, and wait
   * for it.
   */
  private static StoreSettings storeSettings(InboxSettings settings, List<ChannelSpec> specs) {
    int connections = StoreSettings.ENGINE_CONNECTIONS;
    for (ChannelSpec channel : specs) {
      for (TypeSpec type : channel.types()) {
        for (var handler : type.handlers()) {
          if (handler.isTransactional()) {
            Integer atMost = handler.atMost();
            connections += atMost == null ? settings.concurrency() : atMost;
          }
        }
      }
    }
    return new StoreSettings(settings.name(), settings.lanes(), connections, settings.maxPayload());
  }

  @Override
  public String name() {
    return settings.name();
  }

  /** The channels, for whoever joins several inboxes. */
  public List<ChannelSpec> channels() {
    return channels;
  }

  // ---- accepting

  @Override
  public Acceptance accept(String channel, Message message) {
    return accept(channel, List.of(message)).get(0);
  }

  @Override
  public List<Acceptance> accept(String channel, List<Message> messages) {
    return accept(channel(channel), messages, this::stamped);
  }

  private List<Acceptance> accept(
      ChannelSpec channel, List<Message> messages, UnaryOperator<Message> stamp) {
    try (Offer offer = new Offer(engine)) {
      return answer(channel, messages, stamp, acceptor::accept, null, offer);
    }
  }

  /** What an accept offers to the engine of this process, once it is committed. */
  private static final class Offer implements AutoCloseable {
    private final @Nullable Engine engine;
    private final long ticket;
    private final List<HandOver> rows = new ArrayList<>();
    private boolean made;

    Offer(@Nullable Engine engine) {
      this.engine = engine;
      this.ticket = engine == null ? 0 : engine.takeTicket();
    }

    void add(HandOver row) {
      rows.add(row);
    }

    /** As early as possible: while it is not made the engine remembers all that it settles. */
    void make() {
      if (engine != null && !made) {
        made = true;
        engine.handOver(ticket, rows);
      }
    }

    @Override
    public void close() {
      make();
    }
  }

  @Override
  public Acceptance accept(Connection connection, String channel, Message message) {
    return accept(connection, channel, List.of(message)).get(0);
  }

  @Override
  public List<Acceptance> accept(Connection connection, String channel, List<Message> messages) {
    return accept(connection, channel(channel), messages);
  }

  private List<Acceptance> accept(
      Connection connection, ChannelSpec channel, List<Message> messages) {
    return answer(
        channel,
        messages,
        this::stamped,
        batch -> store.acceptor().accept(connection, batch),
        connection,
        null);
  }

  @Override
  public Acceptor acceptor(String channel) {
    ChannelSpec spec = channel(channel);
    return new Router(
        spec,
        this::stamped,
        messages -> accept(spec, messages, UnaryOperator.identity()),
        unreadable -> refuseUnreadable(channel, unreadable));
  }

  @Override
  public Publisher publisher(String channel) {
    ChannelSpec spec = registry.channel(channel);
    boolean stored =
        spec != null
            && spec.types().stream()
                .flatMap(type -> type.handlers().stream())
                .noneMatch(HandlerSpec::inline);
    if (spec == null || !stored) {
      throw new InboxException(
          ErrorCode.CHANNEL_NOT_STORED,
          ("Inbox '%s' has no channel '%s' that stores all it takes, so what a transaction hands to"
                  + " it could be lost, whether or not the channel says withoutInbox(). Make it a"
                  + " stored channel of the inbox: neither direct() nor inline().")
              .formatted(settings.name(), Names.shown(channel)));
    }
    ChannelSpec strict = spec.strict();
    return new ChannelPublisher(
        this,
        channel,
        (connection, messages) -> accept(connection, strict, messages),
        store,
        this::stamped);
  }

  @Override
  public boolean commitsWith(InboxStore other) {
    return store.sharesTransactionsWith(other);
  }

  private interface Accepting {
    List<AcceptResult> accept(List<NewMessage> batch);
  }

  /**
   * @param offer takes what this node can run at once; null while the caller has yet to commit, for
   *     until then there is nothing to run or to look for
   */
  private List<Acceptance> answer(
      ChannelSpec channel,
      List<Message> messages,
      UnaryOperator<Message> stamp,
      Accepting accepting,
      @Nullable Connection joined,
      @Nullable Offer offer) {
    long began = events.silent() ? 0 : System.nanoTime();
    List<Intake.Checked> checked = new ArrayList<>(messages.size());
    List<Acceptance> answers;
    try {
      answers = answers(channel, messages, stamp, checked, accepting, joined, offer);
    } catch (RuntimeException e) {
      if (!events.silent()) {
        events.tell(
            new InboxEvent.AcceptFailed(
                settings.name(), channel.name(), messages.size(), e, since(began)));
      }
      throw e;
    }
    if (!events.silent()) {
      tellAnswered(channel.name(), checked, answers, since(began));
    }
    return answers;
  }

  private static Duration since(long began) {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private Message stamped(Message message) {
    Message stamped = message;
    for (UnaryOperator<Message> stamp : settings.stamps()) {
      stamped = stamp.apply(stamped);
    }
    return stamped;
  }

  /**
   * @param checked takes what is known of each message
   */
  private List<Acceptance> answers(
      ChannelSpec channel,
      List<Message> messages,
      UnaryOperator<Message> stamp,
      List<Intake.Checked> checked,
      Accepting accepting,
      @Nullable Connection joined,
      @Nullable Offer offer) {
    String channelName = channel.name();
    List<NewMessage> batch = new ArrayList<>(messages.size());
    for (Message message : messages) {
      Intake.Checked each = intake.check(channel, stamp.apply(message));
      checked.add(each);
      if (each.message() != null && !each.ignored() && !each.allInline()) {
        batch.add(each.message());
      }
    }
    List<AcceptResult> results = batch.isEmpty() ? List.of() : accepting.accept(batch);
    List<@Nullable Acceptance> stored = new ArrayList<>(messages.size());
    int next = 0;
    for (Intake.Checked each : checked) {
      NewMessage message = each.message();
      if (message == null) {
        stored.add(rejected(channelName, each.rejected()));
      } else if (each.ignored()) {
        stored.add(ignored(message));
      } else if (each.allInline()) {
        stored.add(null);
      } else {
        AcceptResult result = results.get(next++);
        stored.add(answer(message, result, offer));
        tellOddities(
            each, message, result instanceof AcceptResult.Stored && message.handlers().isEmpty());
      }
    }
    if (offer != null) {
      offer.make();
    }
    return withInline(checked, stored, accepting, joined);
  }

  /**
   * Runs what runs where it is accepted, after everything that is stored.
   *
   * @param stored the answer for what is stored of each message; null where nothing of it is
   */
  private List<Acceptance> withInline(
      List<Intake.Checked> checked,
      List<@Nullable Acceptance> stored,
      Accepting accepting,
      @Nullable Connection joined) {
    List<Acceptance> answers = new ArrayList<>(checked.size());
    boolean interrupted = false;
    try {
      for (int i = 0; i < checked.size(); i++) {
        Intake.Checked each = checked.get(i);
        NewMessage message = each.message();
        Acceptance answer = stored.get(i);
        if (message == null || each.ignored()) {
          answers.add(Objects.requireNonNull(answer));
          continue;
        }
        answers.add(runInline(each, message, answer, accepting, joined));
        interrupted |= Thread.interrupted(); // of a handler: for the caller, not the next message
        if (answer == null) {
          tellOddities(each, message, false);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    return answers;
  }

  private void tellAnswered(
      String channel, List<Intake.Checked> checked, List<Acceptance> answers, Duration took) {
    for (int i = 0; i < answers.size(); i++) {
      NewMessage message = checked.get(i).message();
      boolean forNobody =
          message != null
              && message.handlers().isEmpty()
              && checked.get(i).inline().isEmpty()
              && answers.get(i) instanceof Acceptance.Accepted;
      events.tell(
          new InboxEvent.Answered(
              settings.name(),
              channel,
              message == null ? "" : message.type(),
              answers.get(i),
              forNobody,
              took));
    }
  }

  private void refuseUnreadable(String channel, Acceptance.Rejected unreadable) {
    Acceptance answer = rejected(channel, unreadable);
    events.tell(
        new InboxEvent.Answered(settings.name(), channel, "", answer, false, Duration.ZERO));
  }

  /**
   * Runs the inline handlers of a message after what is stored of it has been.
   *
   * @param stored null where nothing of it is
   */
  private Acceptance runInline(
      Intake.Checked checked,
      NewMessage message,
      @Nullable Acceptance stored,
      Accepting accepting,
      @Nullable Connection joined) {
    boolean taken =
        stored == null
            || stored instanceof Acceptance.Accepted
            || stored instanceof Acceptance.Repeat;
    InlineHandlers handlers = inline;
    if (checked.inline().isEmpty() || !taken || handlers == null) {
      return Objects.requireNonNull(stored);
    }
    InlineHandlers.Outcome outcome = handlers.run(joined, checked.inline());
    MessageRef ref = new MessageRef(message.source(), message.id());
    // First: handlers with keys of their own may have failed before one found a conflict.
    if (!outcome.failures().isEmpty()) {
      return new Acceptance.Unfinished(ref, outcome.failures());
    }
    NewMessage differs = outcome.differs();
    if (differs != null) {
      return conflict(checked, differs, accepting);
    }
    if (stored != null) {
      return stored;
    }
    Instant known = outcome.known();
    if (outcome.ran() || known == null) {
      events.tell(new InboxEvent.Accepted(settings.name(), message.channel(), ref, message.type()));
      return new Acceptance.Accepted(ref);
    }
    events.tell(new InboxEvent.Repeated(settings.name(), message.channel(), ref, message.type()));
    return new Acceptance.Repeat(ref, known);
  }

  /** Whoever keeps second copies compares once more, and nearly always finds the same. */
  private Acceptance conflict(Intake.Checked checked, NewMessage differs, Accepting accepting) {
    AcceptResult again = accepting.accept(List.of(differs)).get(0);
    if (again instanceof AcceptResult.Stored) {
      // The known one was forgotten in between: this one is as good as new, and nobody has run.
      String first = checked.inline().get(0).handler().key();
      Failure gone =
          Failures.of(
              ErrorCode.GUARD_BUSY,
              "The message with this id and other content or another type was forgotten meanwhile."
                  + " Accept this one again.",
              store.clock().instant());
      return new Acceptance.Unfinished(
          new MessageRef(differs.source(), differs.id()), Map.of(first, gone));
    }
    return answer(differs, again, null);
  }

  private Acceptance ignored(NewMessage message) {
    MessageRef ref = new MessageRef(message.source(), message.id());
    events.tell(
        new InboxEvent.Unhandled(settings.name(), message.channel(), ref, message.type(), false));
    return new Acceptance.Ignored(ref);
  }

  /**
   * What was taken, but not as one would wish.
   *
   * @param forNobody whether it was stored, and has no handler
   */
  private void tellOddities(Intake.Checked checked, NewMessage message, boolean forNobody) {
    if (!checked.idMade() && !checked.keyMissing() && !forNobody) {
      return;
    }
    MessageRef ref = new MessageRef(message.source(), message.id());
    if (checked.keyMissing()) {
      events.tell(
          new InboxEvent.WithoutKey(settings.name(), message.channel(), ref, message.type()));
    }
    if (checked.idMade()) {
      events.tell(
          new InboxEvent.WithoutId(settings.name(), message.channel(), ref, message.type()));
    }
    if (forNobody) {
      events.tell(
          new InboxEvent.Unhandled(settings.name(), message.channel(), ref, message.type(), true));
    }
  }

  private Acceptance rejected(String channel, Acceptance.@Nullable Rejected rejected) {
    if (rejected == null) {
      throw new IllegalStateException("neither checked nor rejected");
    }
    events.tell(
        new InboxEvent.Rejected(settings.name(), channel, rejected.code(), rejected.reason()));
    return rejected;
  }

  private Acceptance answer(NewMessage message, AcceptResult result, @Nullable Offer offer) {
    MessageRef ref = new MessageRef(message.source(), message.id());
    String inbox = settings.name();
    if (result instanceof AcceptResult.Stored stored) {
      if (offer != null) {
        handOver(message, stored, offer);
        tellOthers(message.handlers());
      }
      if (!events.silent()) {
        events.tell(new InboxEvent.Accepted(inbox, message.channel(), ref, message.type()));
      }
      return new Acceptance.Accepted(ref);
    }
    if (result instanceof AcceptResult.Known known) {
      if (offer != null) {
        lookForAdded(known);
        tellOthers(known.added());
      }
      if (!events.silent()) {
        events.tell(new InboxEvent.Repeated(inbox, message.channel(), ref, message.type()));
      }
      return new Acceptance.Repeat(ref, known.firstReceived());
    }
    if (result instanceof AcceptResult.Differs) {
      conflicts.tell(message, ref);
      events.tell(new InboxEvent.Conflicted(inbox, message.channel(), ref, message.type()));
      return new Acceptance.Conflict(ref);
    }
    throw new IllegalStateException("The store has answered %s for a message".formatted(result));
  }

  private void handOver(NewMessage message, AcceptResult.Stored as, Offer offer) {
    if (engine == null || message.handlers().isEmpty()) {
      return;
    }
    StoredMessage stored = message.stored(as.seq(), as.version(), store.clock().instant());
    boolean late = message.notBefore() != null || message.place() != 0;
    for (HandlerId handler : message.handlers()) {
      Cell cell = new Cell(message.lane(), handler.family());
      Delivery row =
          Delivery.fresh(cell, as.seq(), as.version(), handler.keyId(), message.keyHash());
      offer.add(new HandOver(row.inLater(late).at(message.place()), stored));
    }
  }

  /**
   * A repeat brought work for a handler that had none. It is read from the store, never handed
   * over: what counts is the message that was stored, and this copy may differ from it.
   */
  private void lookForAdded(AcceptResult.Known known) {
    Engine present = engine;
    if (present != null && !known.added().isEmpty()) {
      present.lookNow();
    }
  }

  /** Work has been committed that another node may own. */
  private void tellOthers(List<HandlerId> handlers) {
    WakeUps words = wakeUps;
    if (words != null && !handlers.isEmpty()) {
      words.tell();
    }
  }

  private ChannelSpec channel(String name) {
    ChannelSpec channel = registry.channel(name);
    if (channel == null) {
      throw new InboxException(
          ErrorCode.CHANNEL_UNKNOWN,
          "Inbox '%s' has no channel '%s'. It has: %s."
              .formatted(
                  settings.name(),
                  Names.shown(name),
                  String.join(", ", registry.channels().stream().map(ChannelSpec::name).toList())));
    }
    return channel;
  }

  // ---- handling

  @Override
  public void wake() {
    Engine present = engine;
    if (present != null) {
      present.wake();
    }
    WakeUps words = wakeUps;
    if (words != null) {
      words.tell();
    }
  }

  @Override
  public RunningInbox start() {
    life.lock();
    try {
      refuseIfRunning();
      Executor executor = settings.executor();
      ExecutorService own = null;
      if (executor == null) {
        own = Threads.workers(settings.name());
        executor = own;
      }
      ScheduledThreadPoolExecutor timer = Threads.timer(settings.name());
      RunningEngine[] self = new RunningEngine[1];
      Engine fresh =
          new Engine(
              store,
              registry,
              payloads,
              events,
              engineSettings(),
              executor,
              timer,
              error -> self[0].die(error));
      Sources sources = new Sources(settings.feeds(), this::acceptor);
      Backlog backlog =
          new Backlog(
              store.deliveries(), events, sources, registry.handlers(), fresh::resting, settings);
      RunningEngine starting =
          new RunningEngine(
              settings,
              events,
              fresh,
              sources,
              backlog,
              store.maintenance()::finishReleases,
              retention.wanted()
                  ? new Pruner(store.maintenance(), retention, events, backlog::pressing)
                  : null,
              wakeUps,
              own,
              timer,
              this::hasStopped);
      self[0] = starting;
      // What is found, before this node changes any of it.
      String found = new StartBlock(store, settings, channels, registry, nodeName()).text();
      try {
        starting.start();
      } catch (RuntimeException | Error e) {
        timer.shutdownNow();
        if (own != null) {
          own.shutdown();
        }
        leave(fresh, e);
        throw e;
      }
      running = starting;
      engine = fresh;
      LOG.info("{}", found);
      return starting;
    } finally {
      life.unlock();
    }
  }

  /** A node that joined but cannot work must not be counted for a share. */
  private static void leave(Engine engine, Throwable why) {
    try {
      engine.sayStopped();
    } catch (RuntimeException | Error e) {
      if (e != why) { // nothing can suppress itself
        why.addSuppressed(e);
      }
    }
  }

  private void hasStopped() {
    life.lock();
    try {
      running = null;
      engine = null;
    } finally {
      life.unlock();
    }
  }

  @Override
  public int drain() {
    life.lock();
    try {
      refuseIfRunning();
      AtomicReference<@Nullable Throwable> fatal = new AtomicReference<>();
      Engine[] self = new Engine[1];
      Engine manual =
          new Engine(
              store,
              registry,
              payloads,
              events,
              engineSettings(),
              Runnable::run,
              null,
              error -> {
                fatal.set(error);
                self[0].beginStop(); // what has run is still written down
              });
      self[0] = manual;
      try {
        manual.join();
        manual.drain();
        new Pruner(store.maintenance(), retention, events, () -> false).turn();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (RuntimeException | Error e) {
        leave(manual, e);
        throw e;
      }
      if (fatal.get() != null) {
        RuntimeException e = new IllegalStateException("a handler ran out of memory", fatal.get());
        leave(manual, e);
        throw e;
      }
      manual.sayStopped();
      return manual.attempts();
    } finally {
      life.unlock();
    }
  }

  private void refuseIfRunning() {
    if (running != null) {
      throw new InboxException(
          ErrorCode.INBOX_RUNNING,
          "Inbox '%s' is running already. Close the running one first.".formatted(settings.name()));
    }
  }

  private String nodeName() {
    return settings.name() + "@" + ManagementFactory.getRuntimeMXBean().getName();
  }

  private Engine.Settings engineSettings() {
    return new Engine.Settings(
        nodeName(),
        settings.retry(),
        settings.concurrency(),
        settings.lanes(),
        settings.batchSize(),
        settings.maxCrashes(),
        settings.pollMin(),
        settings.pollMax(),
        settings.beat(),
        settings.deadAfter(),
        settings.startLimit(),
        settings.holdUnknownKeys(),
        settings.interceptors(),
        settings.outbox());
  }

  // ---- seeing

  @Override
  public Optional<DeliveryView> find(String source, String id, String handler) {
    return admin().find(source, id, handler);
  }

  @Override
  public InboxAdmin admin() {
    return new DefaultAdmin(store, this::accept, settings.maxPayload(), "application");
  }
}
