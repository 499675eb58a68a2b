package dev.pigeonhole.testkit;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** The gate, in memory. */
final class MemoryAcceptor implements Acceptor {
  private final Tables tables;

  MemoryAcceptor(Tables tables) {
    this.tables = tables;
  }

  @Override
  public List<AcceptResult> accept(List<NewMessage> batch) {
    CrashPoints.reach("accept.before-commit");
    long token = ThreadLocalRandom.current().nextLong();
    List<AcceptResult> results =
        tables.commit(() -> batch.stream().map(each -> acceptOne(each, token)).toList());
    CrashPoints.reach("accept.after-commit");
    return results;
  }

  @Override
  public List<AcceptResult> accept(Connection connection, List<NewMessage> batch) {
    throw new StoreException(
        StoreException.Kind.PERMANENT,
        ErrorCode.TX_UNSUPPORTED,
        "The memory store takes part in no transaction of a connection."
            + " Accept without a connection, or test on a JDBC store.",
        null);
  }

  private AcceptResult acceptOne(NewMessage message, long token) {
    MessageRow known = tables.byIdentity.get(new MessageRef(message.source(), message.id()));
    if (known == null) {
      return store(message, token);
    }
    known.repeated(tables.now());
    if (message.onConflict() != OnConflict.REPEAT && !known.hasCopy(message)) {
      if (message.onConflict() == OnConflict.KEEP && !kept(known, message)) {
        tables.conflicts.add(
            new Tables.ConflictRow(
                tables.nextConflict(), known.seq(), MessageRow.copy(message), tables.now(), null));
      }
      return new AcceptResult.Differs(known.seq());
    }
    return new AcceptResult.Known(known.seq(), known.receivedAt(), deliver(known, message));
  }

  /** Whether the same copy was kept before, under the same name of its type. */
  private boolean kept(MessageRow known, NewMessage copy) {
    return tables.conflicts.stream()
        .anyMatch(
            row ->
                row.seq() == known.seq()
                    && row.copy().type().equals(copy.type())
                    && Arrays.equals(row.copy().contentHash(), copy.contentHash()));
  }

  private AcceptResult store(NewMessage message, long token) {
    MessageRow row = new MessageRow(tables.nextSeq(), token, message, tables.now());
    tables.byIdentity.put(row.ref(), row);
    tables.messages.put(row.seq(), row);
    deliver(row, message);
    return new AcceptResult.Stored(row.seq(), row.version());
  }

  /** Adds what is missing in every state, and answers it. */
  private List<HandlerId> deliver(MessageRow row, NewMessage message) {
    List<HandlerId> added = new ArrayList<>();
    for (HandlerId handler : message.handlers()) {
      if (row.families().stream().noneMatch(f -> tables.handlers.same(f, handler.family()))) {
        row.families().add(handler.family());
        tables.open(new Cell(row.lane(), handler.family())).put(open(row, handler, message));
        added.add(handler);
      }
    }
    return List.copyOf(added);
  }

  private OpenRow open(MessageRow row, HandlerId handler, NewMessage message) {
    Cell cell = new Cell(row.lane(), handler.family());
    Delivery delivery =
        Delivery.fresh(cell, row.seq(), row.version(), handler.keyId(), row.keyHash());
    Instant notBefore = message.notBefore();
    if (notBefore != null && notBefore.isAfter(tables.now())) {
      return OpenRow.due(delivery, notBefore);
    }
    // A copy may lack the ordering key of what was stored.
    return message.place() != 0 && row.keyHash() == null
        ? OpenRow.due(delivery.at(message.place()), tables.now())
        : OpenRow.fresh(delivery);
  }
}
