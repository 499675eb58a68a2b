package dev.pigeonhole.benchmarks.floor;

import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Lanes;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.nio.ByteBuffer;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Accepting alone, in batches and one by one. */
final class Accepting {

  static final int PRODUCERS = 2;
  static final int MOST_CONNECTIONS = 24;

  // The statement of a batch for a single row, which needs no arrays. Arbiter: message_identity.
  private static final String ACCEPT_ONE =
      """
      WITH fresh AS (
        INSERT INTO pigeonhole_message (seq, source, id, type, channel, transport, lane, content,
                                        content_type, headers, content_hash, received_at, token)
        VALUES (nextval('pigeonhole_message_seq'), 'load', ?, 'load', 'load', 'local', ?, ?,
                'application/octet-stream', ''::bytea, ?, clock_timestamp(), 1)
        ON CONFLICT (source, id) DO NOTHING
        RETURNING seq, lane
      )
      INSERT INTO pigeonhole_delivery (lane, handler, seq, key_id)
      SELECT lane, 1, seq, 1 FROM fresh
      """;

  private Accepting() {}

  static long batches(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (Connections connections = new Connections(run, PRODUCERS)) {
      run.begin();
      accept(connections, messages, Acceptor.batch(run.payloadBytes()));
      run.end();
    }
    return check(run, messages);
  }

  /** Accepts all messages for one handler, by two threads. */
  static void accept(Connections connections, Messages messages, int batch) throws Exception {
    AtomicInteger next = new AtomicInteger();
    Crew.run(
        PRODUCERS,
        member -> {
          Acceptor acceptor = new Acceptor(connections.get(member), 1);
          int all = messages.count();
          for (int from = next.getAndAdd(batch); from < all; from = next.getAndAdd(batch)) {
            acceptor.accept(messages, from, Math.min(from + batch, all));
          }
        });
  }

  /** One commit for each message: what a service does that has no groups. */
  static long singles(Run run, int threads) throws Exception {
    Messages messages = Messages.of(run);
    int size = Math.min(threads, MOST_CONNECTIONS);
    try (Connections connections = new Connections(run, size)) {
      BlockingQueue<PreparedStatement> free = new ArrayBlockingQueue<>(size);
      for (int i = 0; i < size; i++) {
        free.add(connections.get(i).prepareStatement(ACCEPT_ONE));
      }
      AtomicInteger next = new AtomicInteger();
      run.begin();
      Crew.run(
          threads,
          member -> {
            int all = messages.count();
            for (int i = next.getAndIncrement(); i < all; i = next.getAndIncrement()) {
              PreparedStatement statement = free.take();
              accept(statement, messages, i);
              free.put(statement);
            }
          });
      run.end();
    }
    return check(run, messages);
  }

  private static void accept(PreparedStatement statement, Messages messages, int number)
      throws SQLException {
    String id = messages.id(number);
    statement.setString(1, id);
    statement.setInt(2, Lanes.of(id));
    statement.setBytes(3, messages.payload(number));
    statement.setBytes(4, ByteBuffer.allocate(Acceptor.HASH_BYTES).putInt(number).array());
    if (statement.executeUpdate() != 1) {
      throw new IllegalStateException("Not new: " + id);
    }
  }

  private static long check(Run run, Messages messages) throws SQLException {
    try (InboxTables tables = InboxTables.all(run.connect())) {
      return tables.checkAccepted(messages.count(), 1);
    }
  }
}
