package dev.pigeonhole.proofs;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;

/**
 * Messages for a handler of their own. At full size as many are under way at once as keep it busy,
 * so that the rate at which they are settled is what the database and its node are capable of; at
 * small size only their settles are counted.
 */
final class SteadyLoad implements AutoCloseable {
  private static final String CHANNEL = "others";
  private static final String HANDLER = "other";
  private static final int UNDER_WAY = Size.of(200, 1_000);
  private static final int BATCH = Size.of(20, 100);
  private static final Duration BETWEEN_BATCHES = Duration.ofMillis(Size.of(20, 0));

  private final TestDatabase database;
  private final AtomicLong accepted = new AtomicLong();

  /** Ids, because an attempt may be repeated. */
  private final Set<String> handled = ConcurrentHashMap.newKeySet();

  private final Thread thread = new Thread(this::run, "steady-load");
  private Inbox inbox;
  private volatile boolean resting;
  private volatile boolean ended;

  SteadyLoad(TestDatabase database) {
    this.database = database;
  }

  /** Adds the handler. */
  InboxBuilder handledBy(InboxBuilder builder) {
    return builder.channel(
        Channel.named(CHANNEL)
            .on(String.class)
            .handleMessage(HANDLER, received -> handled.add(received.message().id()))
            .build());
  }

  synchronized void startWith(Inbox first) {
    inbox = first;
    thread.start();
  }

  /** Accepts nothing until {@link #resume}. */
  synchronized void rest() {
    resting = true;
  }

  synchronized void resume() {
    resting = false;
  }

  /** From now on messages are accepted by another inbox; the former one may be closed. */
  synchronized void continueWith(Inbox next) {
    inbox = next;
  }

  private void run() {
    while (!ended) {
      if (resting || accepted.get() - handled.size() > UNDER_WAY - BATCH) {
        LockSupport.parkNanos(500_000);
      } else {
        acceptBatch();
        LockSupport.parkNanos(BETWEEN_BATCHES.toNanos());
      }
    }
  }

  private synchronized void acceptBatch() {
    if (resting) {
      return;
    }
    long first = accepted.get();
    inbox.accept(
        CHANNEL,
        LongStream.range(first, first + BATCH)
            .mapToObj(i -> Message.of("other-" + i, "x"))
            .toList());
    accepted.addAndGet(BATCH);
  }

  long accepted() {
    return accepted.get();
  }

  /**
   * How many are certainly settled: what was accepted and is no longer open in the database. The
   * open deliveries are few, so that the question costs nearly nothing however many there were.
   */
  long settled() {
    long before = accepted.get();
    return before - count("delivery") - count("later");
  }

  /** How many have a receipt. */
  long receipts() {
    return count("receipt");
  }

  private long count(String table) {
    return database.count(
        "SELECT count(*) FROM %s r JOIN %s h ON h.key_id = r.key_id WHERE h.handler_key = '%s'"
            .formatted(Tables.name(database, table), Tables.name(database, "handler"), HANDLER));
  }

  /** Accepts nothing more. */
  @Override
  public void close() throws InterruptedException {
    ended = true;
    thread.join();
  }
}
