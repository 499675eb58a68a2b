package dev.pigeonhole.testkit;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Operation;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a database would hold. One lock stands for its transactions: whatever runs inside {@link
 * #commit} is seen by others either whole or not at all, so every field but the clock is only
 * touched there.
 */
final class Tables {
  private static final int FAILURES_KEPT = 10;

  private final ReentrantLock lock = new ReentrantLock();
  private volatile InstantSource clock = InstantSource.system();
  private long lastSeq;
  private long lastConflict;

  final Map<MessageRef, MessageRow> byIdentity = new HashMap<>();
  final TreeMap<Long, MessageRow> messages = new TreeMap<>();
  final Map<RowKey, ReceiptRow> receipts = new HashMap<>();
  final Map<RowKey, PoisonRow> poison = new HashMap<>();
  final List<ConflictRow> conflicts = new ArrayList<>();
  final List<AuditRow> audit = new ArrayList<>();

  /** Changes to many, by name. */
  final Map<String, OperationRow> operations = new HashMap<>();

  /** Handler family → who paused it, and why. */
  final Map<Integer, Pause> pauses = new LinkedHashMap<>();

  final HandlerRegistry handlers = new HandlerRegistry();
  final Ownership ownership = new Ownership();
  final MemoryPruning pruning = new MemoryPruning(this);
  final MemoryKeys keys = new MemoryKeys(this);

  private final Map<Cell, CellRows> open = new HashMap<>();
  private final Map<RowKey, Deque<Failure>> failures = new HashMap<>();

  /** Names a delivery in whatever state it is. */
  record RowKey(long seq, int handler) {
    static RowKey of(Delivery delivery) {
      return new RowKey(delivery.seq(), delivery.cell().handler());
    }
  }

  /** The proof that a delivery ended well, as it stood then. */
  record ReceiptRow(Delivery delivery, Instant at, boolean discarded) {}

  /** A delivery that is not tried again by itself, as it stood then, and whether others wait. */
  record PoisonRow(Delivery delivery, Instant at, boolean blocks) {}

  /** A second copy of a known identity with other content or another type. */
  record ConflictRow(long id, long seq, NewMessage copy, Instant at, @Nullable String acceptedAs) {

    ConflictRow acceptedAs(@Nullable String newId) {
      return new ConflictRow(id, seq, copy, at, newId);
    }
  }

  /** A change to many, and when it has finished. */
  record OperationRow(Operation operation, @Nullable Instant finishedAt) {}

  /** What an operator did. */
  record AuditRow(Instant at, String action, String subject, String actor, String reason) {}

  void audit(String action, @Nullable MessageRef message, String key, String actor, String reason) {
    String handler = key.isEmpty() ? "" : "handler '" + key + "'";
    String subject =
        message == null
            ? handler
            : handler.isEmpty() ? message.toString() : message + " for " + handler;
    audit(action, subject, actor, reason);
  }

  void audit(String action, String subject, String actor, String reason) {
    audit.add(new AuditRow(now(), action, subject, actor, reason));
  }

  <T> T commit(Supplier<T> work) {
    lock.lock();
    try {
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  void commit(Runnable work) {
    lock.lock();
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Empties everything but what an inbox has looked up when it was built: its handlers and cells.
   */
  void clear() {
    byIdentity.clear();
    messages.clear();
    receipts.clear();
    poison.clear();
    conflicts.clear();
    audit.clear();
    operations.clear();
    pauses.clear();
    open.clear();
    failures.clear();
    pruning.clear();
    keys.clear();
  }

  InstantSource clock() {
    return clock;
  }

  void clock(InstantSource newClock) {
    clock = newClock;
  }

  Instant now() {
    return clock.instant();
  }

  long nextConflict() {
    return ++lastConflict;
  }

  long nextSeq() {
    return ++lastSeq;
  }

  CellRows open(Cell cell) {
    return open.computeIfAbsent(cell, key -> new CellRows());
  }

  Iterable<CellRows> allOpen() {
    return open.values();
  }

  /** The open row if it still stands at this version. */
  @Nullable OpenRow at(Delivery delivery) {
    OpenRow row = open(delivery.cell()).get(delivery.seq());
    return row != null && row.delivery().version() == delivery.version() ? row : null;
  }

  /** The open row of this message for the family, or null. */
  @Nullable OpenRow find(MessageRow message, int handler) {
    return open(new Cell(message.lane(), handler)).get(message.seq());
  }

  /** Moves an open row to poison, however it was counted. */
  void poison(OpenRow row, Delivery as, Failure failure, OnPoison onPoison) {
    open(as.cell()).remove(row);
    poison.put(RowKey.of(as), new PoisonRow(as, now(), onPoison == OnPoison.BLOCK_KEY));
    keys.poisoned(as, onPoison);
    record(as, failure);
  }

  /** Keeps the failure, and forgets the oldest when there are more than ten. */
  void record(Delivery delivery, Failure failure) {
    Deque<Failure> ring =
        failures.computeIfAbsent(RowKey.of(delivery), key -> new ArrayDeque<>(FAILURES_KEPT + 1));
    ring.addLast(failure);
    if (ring.size() > FAILURES_KEPT) {
      ring.removeFirst();
    }
  }

  void forgetFailures(RowKey key) {
    failures.remove(key);
  }

  /** The newest first. */
  List<Failure> failures(RowKey key) {
    List<Failure> newestFirst = new ArrayList<>();
    failures
        .getOrDefault(key, new ArrayDeque<>())
        .descendingIterator()
        .forEachRemaining(newestFirst::add);
    return newestFirst;
  }

  Optional<Failure> lastFailure(RowKey key) {
    return Optional.ofNullable(failures.get(key)).map(Deque::getLast);
  }
}
