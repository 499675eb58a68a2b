package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Failure;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.Received;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** One invocation of one handler, and what the handler can see of it. */
final class Attempt implements Received<Object> {
  /** Who speaks for the attempt. Whoever moves it out of RUNNING settles it; the other is late. */
  enum State {
    RUNNING,
    ENDED,
    TIMED_OUT,
    CUT
  }

  final String inbox;
  final Work work;
  final BoundHandler handler;
  final Thread thread = Thread.currentThread();

  private final @Nullable Duration limit;
  final Breaker breaker;
  private final BooleanSupplier stopping;
  private State state = State.RUNNING; // guarded by this
  private long endedNanos; // guarded by this; meant when the state is ENDED
  private boolean left; // guarded by this; the handler has returned, its thread may do other work
  private @Nullable Object payload; // set once, before the handler sees this
  private boolean decoded; // set with it
  private volatile long startedNanos = System.nanoTime();
  private volatile boolean started;
  private volatile boolean stop;
  private volatile boolean outcome;
  private volatile @Nullable Connection connection;
  private volatile Outgoing outgoing = new Outgoing(null);
  private volatile @Nullable Interception entered;
  private volatile @Nullable Object flight;
  private final AtomicBoolean told = new AtomicBoolean();

  Attempt(
      String inbox, Work work, BoundHandler handler, Breaker breaker, BooleanSupplier stopping) {
    this(inbox, work, handler, handler.spec().timeout(), breaker, stopping);
  }

  /**
   * @param limit null where it may take for ever
   */
  Attempt(
      String inbox,
      Work work,
      BoundHandler handler,
      @Nullable Duration limit,
      Breaker breaker,
      BooleanSupplier stopping) {
    this.inbox = inbox;
    this.work = work;
    this.handler = handler;
    this.limit = limit;
    this.breaker = breaker;
    this.stopping = stopping;
  }

  /** True for the one caller that may settle it. */
  synchronized boolean end(State end) {
    if (state != State.RUNNING) {
      return false;
    }
    state = end;
    outgoing.close();
    if (end == State.ENDED) {
      endedNanos = System.nanoTime();
    }
    return true;
  }

  /** The handler has returned: from now on its thread is none of this attempt's business. */
  synchronized void leave() {
    left = true;
  }

  /** Interrupts the thread while the handler has it, and never anybody who has it afterwards. */
  synchronized void interrupt() {
    if (!left) {
      thread.interrupt();
    }
  }

  synchronized State state() {
    return state;
  }

  /** The handler is about to be called. */
  void started() {
    startedNanos = System.nanoTime();
    started = true;
    flight = FlightRecords.beginAttempt();
  }

  /** Whether the handler was about to be called. */
  boolean hasStarted() {
    return started;
  }

  /** Interceptors stand around it, and want to know how it ends. */
  void entered(Interception by) {
    entered = by;
  }

  /** It is decided how it ends. The first word counts; the timer's may come with the handler's. */
  void ended(Interceptor.End end, @Nullable Throwable cause) {
    if (!told.compareAndSet(false, true)) {
      return;
    }
    Object recorded = flight;
    if (recorded != null) {
      FlightRecords.endAttempt(recorded, this, end);
    }
    Interception interested = entered;
    if (interested != null) {
      interested.ended(this, end, cause);
    }
  }

  /** Nobody has said how it ends, so it does not count; unless its time was up. */
  void endedSomehow() {
    ended(state() == State.TIMED_OUT ? Interceptor.End.TIMED_OUT : Interceptor.End.RELEASED, null);
  }

  /** The settler has its outcome. */
  void outcomeRecorded() {
    outcome = true;
  }

  boolean hasOutcome() {
    return outcome;
  }

  void requestStop() {
    stop = true;
  }

  void decoded(@Nullable Object content) {
    this.payload = content;
    this.decoded = true;
  }

  /** Whether the payload could be read: what went wrong after that is the handler's doing. */
  boolean decoded() {
    return decoded;
  }

  /** Where its handler may publish; before that, nowhere. */
  void publishTo(@Nullable Publisher publisher) {
    if (publisher != null) {
      outgoing = new Outgoing(publisher);
    }
  }

  /** What its handler publishes. */
  Outgoing outgoing() {
    return outgoing;
  }

  void using(@Nullable Connection inUse) {
    this.connection = inUse;
  }

  @Nullable Connection connection() {
    return connection;
  }

  /** The handler's time, up to now if it has not returned; waiting for the store is not in it. */
  synchronized Duration took() {
    long end = state == State.ENDED ? endedNanos : System.nanoTime();
    return Duration.ofNanos(end - startedNanos);
  }

  @Override
  @SuppressWarnings("NullAway") // null only for a missing body, which the handler's type allows for
  public Object payload() {
    return payload;
  }

  @Override
  public String inbox() {
    return inbox;
  }

  @Override
  public MessageRef message() {
    return new MessageRef(work.message().source(), work.message().id());
  }

  @Override
  public String type() {
    return work.message().type();
  }

  @Override
  public String contentType() {
    return work.message().contentType();
  }

  @Override
  public Headers headers() {
    return HeaderFormat.decode(work.message().headers());
  }

  @Override
  public String handler() {
    return handler.keyOf(work.delivery().keyId());
  }

  @Override
  public int attempt() {
    return work.delivery().attempt();
  }

  @Override
  public Optional<Failure> previousFailure() {
    return Optional.ofNullable(work.previous());
  }

  @Override
  public Instant receivedAt() {
    return work.message().receivedAt();
  }

  @Override
  public Optional<Instant> occurredAt() {
    return Optional.ofNullable(work.message().occurredAt());
  }

  @Override
  public Optional<String> orderingKey() {
    return Optional.ofNullable(work.message().orderingKey());
  }

  @Override
  public String idempotencyKey() {
    return Hashes.idempotencyKey(work.message().source(), work.message().id(), handler());
  }

  @Override
  public long laneToken() {
    return work.laneToken();
  }

  @Override
  public Optional<Duration> timeLeft() {
    if (limit == null) {
      return Optional.empty();
    }
    Duration left = limit.minus(took());
    return Optional.of(left.isNegative() ? Duration.ZERO : left);
  }

  @Override
  public boolean stopRequested() {
    return stop || stopping.getAsBoolean();
  }

  @Override
  public void publish(Message message) {
    outgoing.add(this, message);
  }
}
