package dev.pigeonhole.internal.guard;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.dispatch.Intake;
import dev.pigeonhole.internal.dispatch.TransactionWatch;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Outboxes;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.Guards;
import dev.pigeonhole.store.Guards.Verdict;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one implementation of {@link Guard}. */
public final class DefaultGuard implements Guard {
  private static final Logger LOG = LoggerFactory.getLogger(DefaultGuard.class);

  private final InboxStore store;
  private final Guards guards;
  private final GuardSettings settings;
  private final Payloads payloads;
  private final Events events;
  private final ScheduledThreadPoolExecutor timer;
  private final Map<HandlerKey, HandlerId> handlers = new ConcurrentHashMap<>();
  private final TypeNames types = new TypeNames();
  private volatile boolean closed;

  private DefaultGuard(InboxStore store, Guards guards, GuardSettings settings, Payloads payloads) {
    this.store = store;
    this.guards = guards;
    this.settings = settings;
    this.payloads = payloads;
    this.events = new Events(settings.name(), settings.listeners());
    this.timer = timer(settings.name());
    GuardRetention.of(store.maintenance(), events, settings)
        .ifPresent(each -> forget(each, each.first(ThreadLocalRandom.current())));
  }

  private static ScheduledThreadPoolExecutor timer(String name) {
    ScheduledThreadPoolExecutor timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "pigeonhole-" + name + "-guard");
              thread.setDaemon(true);
              return thread;
            });
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    return timer;
  }

  /** Checks everything and opens the store; called by the builder. */
  public static DefaultGuard open(InboxStore store, GuardSettings.Draft draft) {
    List<Problem> problems = new ArrayList<>(draft.problems());
    Guards guards = store.guards().orElse(null);
    if (guards == null) {
      problems.add(
          new Problem(
              ErrorCode.TX_UNSUPPORTED,
              "This store cannot let writes and a receipt commit together, so it has no guard. Use"
                  + " JdbcStore, or a LeaseGuard with its weaker promise."));
    }
    if (guards == null || !problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    GuardSettings settings = draft.freeze();
    Outboxes.check(settings.outbox(), store, "The guard of inbox '" + settings.name() + "'");
    StoreSettings needs =
        new StoreSettings(settings.name(), settings.lanes(), 1, settings.maxAnswer());
    for (String warning : store.maintenance().open(needs)) {
      LOG.warn("Guard of inbox {}: {}", settings.name(), warning);
    }
    return new DefaultGuard(store, guards, settings, Payloads.using(draft.codec));
  }

  @Override
  public Guard waitingAtMost(Duration time) {
    return new PatientGuard(this, GuardSettings.checkWait(time));
  }

  @Override
  public <R, X extends Exception> Guarded<R> run(GuardKey key, GuardBody<R, X> body) throws X {
    return guard(settings.waitAtMost(), null, key, null, body);
  }

  @Override
  public <R, X extends Exception> Guarded<R> answer(
      GuardKey key, Class<R> type, GuardBody<R, X> body) throws X {
    return guard(settings.waitAtMost(), null, key, type, body);
  }

  @Override
  public <R, X extends Exception> Guarded<R> run(
      Connection connection, GuardKey key, GuardBody<R, X> body) throws X {
    return guard(settings.waitAtMost(), connection, key, null, body);
  }

  @Override
  public <R, X extends Exception> Guarded<R> answer(
      Connection connection, GuardKey key, Class<R> type, GuardBody<R, X> body) throws X {
    return guard(settings.waitAtMost(), connection, key, type, body);
  }

  /**
   * @param patience how long to wait for others
   * @param joined null for a transaction of our own
   * @param type null where no answer is kept
   */
  <R, X extends Exception> Guarded<R> guard(
      Duration patience,
      @Nullable Connection joined,
      GuardKey key,
      @Nullable Class<R> type,
      GuardBody<R, X> body)
      throws X {
    if (closed) {
      throw new IllegalStateException("the guard is closed");
    }
    types.check(key);
    HandlerId handler = handler(key.handler());
    NewMessage message = message(key);
    MessageRef ref = new MessageRef(message.source(), message.id());
    Duration keep = settings.keepReceipts();
    Guards.Request request =
        new Guards.Request(
            message,
            handler,
            asked(key),
            patience,
            settings.timeLimit(),
            keep == null ? Guards.FOR_EVER : keep);
    Run<R> run = new Run<>(key, ref, type, body, joined == null);
    long began = System.nanoTime();
    try {
      Verdict verdict =
          joined == null ? guards.run(request, run) : guards.join(joined, request, run);
      Exception kept = run.failure;
      if (verdict instanceof Verdict.Ran && kept != null) {
        events.guardFailed(handler.key(), ref, kept, since(began));
        throw DefaultGuard.<X>asItIs(kept);
      }
      return tell(key, ref, verdict, run, since(began));
    } catch (Guards.WorkFailedException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      events.guardFailed(handler.key(), ref, cause, since(began));
      throw DefaultGuard.<X>asItIs(cause);
    } catch (StoreException e) {
      if (run.failure != null) {
        e.addSuppressed(run.failure); // what could not be kept
      }
      events.guardFailed(handler.key(), ref, e, since(began));
      throw e;
    }
  }

  private static Duration since(long began) {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** It is an X, or one of those that everybody may throw. */
  @SuppressWarnings("unchecked")
  private static <X extends Exception> X asItIs(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return (X) thrown;
  }

  private <R> Guarded<R> tell(
      GuardKey key, MessageRef ref, Verdict verdict, Run<R> run, Duration took) {
    String inbox = settings.name();
    String handler = key.handler().key();
    if (verdict instanceof Verdict.Ran) {
      run.tellOutbox();
      if (!events.silent()) {
        events.tell(new InboxEvent.GuardRan(inbox, handler, ref, took));
      }
      return new Guarded.Ran<>(run.value);
    }
    if (verdict instanceof Verdict.Known known) {
      events.tell(new InboxEvent.GuardRepeated(inbox, handler, ref, known.state(), took));
      KeptFailures.refuseIfOne(key, known);
      return new Guarded.Repeat<>(run.kept(known.answer()), known.at(), known.state());
    }
    if (verdict instanceof Verdict.Busy) {
      events.tell(new InboxEvent.GuardBusy(inbox, handler, ref, took));
      return new Guarded.Busy<>(took);
    }
    events.tell(new InboxEvent.GuardConflicted(inbox, handler, ref, took));
    return new Guarded.Conflict<>(key);
  }

  /** One call: its body, and what came of it. */
  private final class Run<R> implements Guards.Work {
    private final GuardKey key;
    private final MessageRef ref;
    private final @Nullable Class<R> type;
    private final GuardBody<R, ?> body;
    private final boolean own;
    private @Nullable R value;
    private @Nullable Transaction transaction; // of the last run
    private @Nullable Exception failure; // of the last run, if it is to be kept

    Run(GuardKey key, MessageRef ref, @Nullable Class<R> type, GuardBody<R, ?> body, boolean own) {
      this.key = key;
      this.ref = ref;
      this.type = type;
      this.body = body;
      this.own = own;
    }

    @Override
    public Guards.@Nullable Answer run(Connection connection, HandlerId handler) throws Exception {
      String what = key.handler().key();
      failure = null;
      try (TransactionWatch watch =
          new TransactionWatch(what, settings.timeLimit(), own ? connection : null)) {
        try {
          Transaction begun = new Transaction(connection, ref, handler.key(), own ? watch : null);
          transaction = begun;
          value = body.run(begun);
          begun.refuseIfUnpublished();
        } catch (Exception e) {
          watch.returned();
          watch.refuseIfStruck(e);
          if (KeptFailures.keeps(settings.keptFailures(), e)) {
            failure = e;
            throw new Guards.KeepFailureException(KeptFailures.answer(e), e);
          }
          throw e;
        }
        Guards.Answer answer = answer();
        watch.returned();
        watch.refuseIfStruck(null);
        return answer;
      }
    }

    @Override
    public boolean mayKeepFailure() {
      return !settings.keptFailures().isEmpty();
    }

    private Guards.@Nullable Answer answer() {
      if (type == null) {
        return null;
      }
      R given = value;
      Payloads.Encoded encoded =
          given == null ? new Payloads.Encoded(null, "") : payloads.encode(given);
      byte[] content = encoded.content();
      if (content != null && content.length > settings.maxAnswer()) {
        throw new InboxException(
            ErrorCode.ANSWER_TOO_LARGE,
            ("The answer of '%s' has %d bytes, the limit is %d, so the run was rolled back. Answer"
                    + " with a reference, or raise .maxAnswer(…).")
                .formatted(key.handler().key(), content.length, settings.maxAnswer()));
      }
      return new Guards.Answer(content, encoded.contentType(), settings.keepAnswers());
    }

    /** What a caller has yet to commit, nobody can find. */
    void tellOutbox() {
      Transaction last = transaction;
      Publisher outbox = settings.outbox();
      if (own && last != null && last.published && outbox != null) {
        try {
          outbox.wake();
        } catch (RuntimeException e) { // the receipt has committed
          LOG.warn("The outbox could not be woken; it finds what was published by itself", e);
        }
      }
    }

    Optional<R> kept(Guards.@Nullable Answer answer) {
      if (answer == null || answer.content() == null || type == null) {
        return Optional.empty();
      }
      return Optional.ofNullable(payloads.decode(answer.content(), answer.contentType(), type));
    }
  }

  private final class Transaction implements GuardTransaction {
    private final Connection connection;
    private final MessageRef message;
    private final String handler;
    private final @Nullable TransactionWatch watch;
    private volatile boolean published;
    private @Nullable InboxException unpublished; // guarded by this; the first

    Transaction(
        Connection connection,
        MessageRef message,
        String handler,
        @Nullable TransactionWatch watch) {
      this.connection = connection;
      this.message = message;
      this.handler = handler;
      this.watch = watch;
    }

    @Override
    public Connection connection() {
      return connection;
    }

    @Override
    public String publish(Message outgoing) {
      Publisher outbox = settings.outbox();
      if (outbox == null) {
        throw Outboxes.missing("The guard of '" + handler + "'");
      }
      published = true;
      try {
        return outbox.publish(connection, outgoing);
      } catch (InboxException e) {
        synchronized (this) {
          unpublished = unpublished == null ? e : unpublished;
        }
        throw e;
      }
    }

    /** Nobody commits a receipt who has swallowed that a message cannot go out. */
    private synchronized void refuseIfUnpublished() {
      if (unpublished != null) {
        throw unpublished;
      }
    }

    @Override
    public String idempotencyKey() {
      return Hashes.idempotencyKey(message.source(), message.id(), handler);
    }

    @Override
    public Optional<Duration> timeLeft() {
      return watch == null ? Optional.empty() : Optional.of(watch.left());
    }
  }

  @Override
  public void prepare(Collection<HandlerKey> wanted) {
    List<HandlerKey> keys = List.copyOf(wanted);
    if (keys.isEmpty()) {
      return;
    }
    List<List<HandlerId>> ids =
        store.maintenance().register(keys.stream().map(DefaultGuard::names).toList());
    for (int i = 0; i < keys.size(); i++) {
      handlers.put(keys.get(i), ids.get(i).get(0));
    }
  }

  private HandlerId handler(HandlerKey key) {
    HandlerId known = handlers.get(key);
    if (known != null) {
      return known;
    }
    HandlerId id = store.maintenance().register(List.of(names(key))).get(0).get(0);
    handlers.put(key, id);
    return id;
  }

  /** Its key and its former ones. */
  private static List<String> names(HandlerKey key) {
    List<String> keys = Stream.concat(Stream.of(key.key()), key.formerKeys().stream()).toList();
    for (String each : keys) {
      if (!Names.valid(each)) {
        throw new InboxException(
            ErrorCode.NAME_INVALID,
            "The handler key '%s' is not usable. %s".formatted(Names.shown(each), Names.RULE));
      }
    }
    return keys;
  }

  private NewMessage message(GuardKey key) {
    String source = key.source();
    String id = NamedKeys.of(key, payloads);
    if (id == null) {
      id = missing(key);
    }
    Intake.checkId(id);
    if (source == null) {
      source = TypeSpec.keySource(key.type());
    }
    Intake.checkSource(source);
    return new NewMessage(
        source,
        id,
        key.type(),
        List.of(key.type()),
        NewMessage.GUARD,
        NewMessage.GUARD,
        Hashes.lane(Hashes.identity(source, id), settings.lanes()),
        null,
        null,
        null,
        "",
        new byte[0],
        NewMessage.unknownContent(),
        OnConflict.REJECT,
        null,
        null,
        List.of(),
        0);
  }

  private byte @Nullable [] asked(GuardKey key) {
    Object request = key.request();
    if (request == null) {
      return null;
    }
    Payloads.Encoded encoded = payloads.encode(request);
    return Hashes.content(encoded.contentType(), encoded.content());
  }

  private String missing(GuardKey key) {
    String handler = key.handler().key();
    if (settings.missingKey() == OnMissingKey.ACCEPT_EVERY_COPY) {
      events.tell(new InboxEvent.GuardUnguarded(settings.name(), handler, key.type()));
      return "random-" + UUID.randomUUID();
    }
    Object content = key.request() == null ? key.message() : key.request();
    if (settings.missingKey() == OnMissingKey.HASH_CONTENT && content != null) {
      Payloads.Encoded encoded = payloads.encode(content);
      byte[] hash = Hashes.content(encoded.contentType(), encoded.content());
      return "content-" + HexFormat.of().formatHex(hash);
    }
    events.tell(new InboxEvent.GuardKeyMissing(settings.name(), handler, key.type()));
    throw new MissingKeyException(
        ("There is no key for '%s' of %s, so a repeat could not be told from something new. %s, or"
                + " say with .missingKey(…) what to do without.")
            .formatted(handler, key.type(), NamedKeys.wayOut(key)));
  }

  private void forget(GuardRetention retention, Duration after) {
    timer.schedule(() -> forget(retention), after.toMillis(), TimeUnit.MILLISECONDS);
  }

  private void forget(GuardRetention retention) {
    Duration pause = retention.betweenRounds();
    try {
      pause = retention.step();
    } catch (RuntimeException e) {
      LOG.warn("The guard of inbox {} could not forget; it tries again", settings.name(), e);
    } finally {
      if (!closed) {
        forget(retention, pause);
      }
    }
  }

  @Override
  public PayloadCodec codec() {
    return payloads.asCodec();
  }

  @Override
  public void close() {
    closed = true;
    timer.shutdown();
  }
}
