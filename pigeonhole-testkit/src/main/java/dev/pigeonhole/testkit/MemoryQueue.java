package dev.pigeonhole.testkit;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A queue without a broker, for tests of channels that are fed by one. It keeps what nobody has
 * acknowledged and hands it out again; what is refused is put aside. Safe for many threads.
 *
 * <pre>{@code
 * MemoryQueue queue = MemoryQueue.named("orders");
 * Inbox inbox = Inbox.on(store).channel(orders, queue.source()).build();
 * queue.send(Envelope.of("memory", "orders").id("m-1").type("order.placed").body(json).build());
 * }</pre>
 */
public final class MemoryQueue {

  /** What was put aside, and why. */
  public record Aside(Envelope envelope, ErrorCode code, String reason) {}

  /** What one consumer has taken and not yet answered for. */
  record Taken(long connection, List<Envelope> envelopes) {}

  private static final int MOST = 200;
  static final int LARGEST = 1_000_000;

  private final String name;
  private final Deque<Envelope> waiting = new ArrayDeque<>(); // guarded by this, like all below
  private final List<Taken> out = new ArrayList<>();
  private final List<Aside> aside = new ArrayList<>();
  private @Nullable RuntimeException lastFailure;
  private long connection;
  private boolean stalled;
  private boolean deleted;

  private MemoryQueue(String name) {
    this.name = name;
  }

  /** An empty queue. */
  public static MemoryQueue named(String name) {
    return new MemoryQueue(name);
  }

  /** One more way into it, for tests of an outbox. */
  public Transport transport() {
    return new MemoryTransport(name, this);
  }

  /** One more consumer of it. */
  public MessageSource source() {
    return new MemorySource(name, this);
  }

  /** Puts it at the end; with a body of more than 1,000,000 bytes, aside. */
  public synchronized void send(Envelope envelope) {
    byte[] body = envelope.body();
    if (body != null && body.length > LARGEST) {
      String reason =
          "%s: The body has %d bytes, the limit is %d."
              .formatted(ErrorCode.PAYLOAD_TOO_LARGE.text(), body.length, LARGEST);
      aside.add(new Aside(envelope, ErrorCode.PAYLOAD_TOO_LARGE, reason));
      return;
    }
    waiting.addLast(envelope);
    notifyAll();
  }

  /** Plays a broker that hangs: from now on no transport is told that anything has arrived. */
  public synchronized void stall() {
    stalled = true;
  }

  /** Ends what {@link #stall} began; whoever still waits for an answer gets it. */
  public synchronized void resume() {
    stalled = false;
    notifyAll();
  }

  /** Plays a queue that is deleted: what transports send is unroutable. */
  public synchronized void delete() {
    deleted = true;
  }

  /** All that nobody has taken yet, in order. */
  public synchronized List<Envelope> waiting() {
    return List.copyOf(waiting);
  }

  /** How many nobody has acknowledged, whether they wait or were handed out. */
  public synchronized int size() {
    return waiting.size() + out.stream().mapToInt(taken -> taken.envelopes().size()).sum();
  }

  /** What was refused, in order. */
  public synchronized List<Aside> aside() {
    return List.copyOf(aside);
  }

  /** Why what was handed in last could not be taken, if it was so; it comes again. */
  public synchronized Optional<RuntimeException> lastFailure() {
    return Optional.ofNullable(lastFailure);
  }

  /**
   * Plays a connection that is lost: whatever was handed out comes again, marked as redelivered,
   * and acknowledgements that are on their way are void.
   */
  public synchronized void disconnect() {
    connection++;
    List<Taken> lost = List.copyOf(out);
    out.clear();
    for (int i = lost.size() - 1; i >= 0; i--) {
      putBack(lost.get(i).envelopes());
    }
    notifyAll();
  }

  /**
   * The first ones that wait, or after this time none.
   *
   * @param wanted whether they still are, after the wait
   */
  synchronized Taken take(Duration patience, BooleanSupplier wanted) throws InterruptedException {
    if (waiting.isEmpty()) {
      TimeUnit.NANOSECONDS.timedWait(this, patience.toNanos());
    }
    List<Envelope> envelopes = new ArrayList<>();
    while (wanted.getAsBoolean() && !waiting.isEmpty() && envelopes.size() < MOST) {
      envelopes.add(waiting.removeFirst());
    }
    Taken taken = new Taken(connection, List.copyOf(envelopes));
    if (!envelopes.isEmpty()) {
      out.add(taken);
    }
    return taken;
  }

  /** Whether some of it is for later. */
  synchronized boolean settle(Taken taken, List<Disposition> answers) {
    if (!remove(taken)) {
      return false;
    }
    List<Envelope> again = new ArrayList<>();
    for (int i = 0; i < answers.size(); i++) {
      Envelope envelope = taken.envelopes().get(i);
      if (answers.get(i) instanceof Disposition.Refused refused) {
        aside.add(new Aside(envelope, refused.code(), refused.reason()));
      } else if (answers.get(i) instanceof Disposition.Later) {
        again.add(envelope);
      }
    }
    for (Envelope envelope : again) { // behind the others, so that they go on meanwhile
      waiting.addLast(redelivered(envelope));
    }
    return !again.isEmpty();
  }

  synchronized void failed(Taken taken, RuntimeException failure) {
    lastFailure = failure;
    giveBack(taken);
  }

  /** Nobody has answered for it: it comes again, in its place. */
  synchronized void giveBack(Taken taken) {
    if (remove(taken)) {
      putBack(taken.envelopes());
      notifyAll();
    }
  }

  synchronized boolean isDeleted() {
    return deleted;
  }

  /** Number of the connection that transports have now; {@link #disconnect} makes it another. */
  synchronized long connection() {
    return connection;
  }

  /** Whether the queue answers over this connection in this time. */
  synchronized boolean answers(long over, Duration patience) throws InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    while (stalled && over == connection) {
      long left = end - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return over == connection;
  }

  private boolean remove(Taken taken) {
    return taken.connection() == connection && out.removeIf(each -> each == taken);
  }

  private void putBack(List<Envelope> envelopes) {
    for (int i = envelopes.size() - 1; i >= 0; i--) {
      waiting.addFirst(redelivered(envelopes.get(i)));
    }
  }

  private static Envelope redelivered(Envelope envelope) {
    return envelope.toBuilder().redelivered(true).build();
  }
}
