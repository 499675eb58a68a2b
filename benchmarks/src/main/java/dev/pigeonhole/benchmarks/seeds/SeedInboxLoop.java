package dev.pigeonhole.benchmarks.seeds;

import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Accepting and processing as the description of that inbox draws it. */
final class SeedInboxLoop extends SeedLoop {

  static final int BATCH = 100;

  // Both rows in one round trip, which is more than most would do for it.
  private static final String ACCEPT =
      """
      WITH message AS (
        INSERT INTO inbox_message (id, transport_name, content, serialized_properties, received_at)
        VALUES (?, 'local', ?, '{}', clock_timestamp())
        ON CONFLICT DO NOTHING
      )
      INSERT INTO inbox_handler_status (id, message_id, handler_key)
      VALUES (?, ?, 'load')
      ON CONFLICT DO NOTHING
      """;

  // Held for as long as there is work, and given back with the connection.
  private static final String LOCK = "SELECT pg_try_advisory_lock(5)";

  private static final String PENDING =
      """
      SELECT id, message_id, version FROM inbox_handler_status
      WHERE completed_at IS NULL AND NOT is_poisoned AND processing_started_at IS NULL
        AND (next_attempt_at IS NULL OR next_attempt_at <= clock_timestamp())
      ORDER BY id LIMIT %d
      """
          .formatted(BATCH);

  private static final String MARK =
      """
      UPDATE inbox_handler_status
      SET processing_started_at = clock_timestamp(), version = version + 1
      WHERE id = ? AND version = ?
      """;

  private static final String LOAD =
      "SELECT content, serialized_properties FROM inbox_message WHERE id = ?";

  private static final String COMPLETE =
      """
      UPDATE inbox_handler_status
      SET completed_at = clock_timestamp(), processing_started_at = NULL, version = version + 1
      WHERE id = ? AND version = ?
      """;

  private boolean locked;

  private record Status(UUID id, String message, int version) {}

  SeedInboxLoop(Run run) {
    super(run);
  }

  @Override
  void consume(Connection connection) throws SQLException {
    try (PreparedStatement accept = connection.prepareStatement(ACCEPT)) {
      for (int number = next(); number >= 0; number = next()) {
        String id = run.id(number);
        accept.setString(1, id);
        accept.setBytes(2, run.payload(number));
        accept.setObject(3, statusId(number));
        accept.setString(4, id);
        accept.executeUpdate();
      }
    }
  }

  /** Of version 7: rising with time. */
  private static UUID statusId(int number) {
    return new UUID((System.currentTimeMillis() << 16) | 0x7000, 0x8000000000000000L | number);
  }

  @Override
  int process(Connection connection) throws SQLException {
    lock(connection);
    List<Status> batch = pending(connection);
    if (batch.isEmpty()) {
      return 0;
    }
    mark(connection, batch);
    try (PreparedStatement load = connection.prepareStatement(LOAD);
        PreparedStatement complete = connection.prepareStatement(COMPLETE)) {
      for (Status status : batch) {
        load.setString(1, status.message());
        try (ResultSet message = load.executeQuery()) {
          message.next();
          message.getBytes(1);
        }
        String id = status.message();
        handle(Integer.parseInt(id, id.lastIndexOf('-') + 1, id.length(), 10));
        complete.setObject(1, status.id());
        complete.setInt(2, status.version() + 1);
        if (complete.executeUpdate() != 1) {
          throw new IllegalStateException("Somebody else has completed " + id);
        }
        completed(1);
      }
    }
    return batch.size();
  }

  private void lock(Connection connection) throws SQLException {
    if (!locked) {
      try (PreparedStatement lock = connection.prepareStatement(LOCK);
          ResultSet result = lock.executeQuery()) {
        result.next();
        locked = result.getBoolean(1);
      }
      if (!locked) {
        throw new IllegalStateException("Somebody else holds the lock");
      }
    }
  }

  private static List<Status> pending(Connection connection) throws SQLException {
    List<Status> batch = new ArrayList<>();
    try (PreparedStatement pending = connection.prepareStatement(PENDING);
        ResultSet row = pending.executeQuery()) {
      while (row.next()) {
        batch.add(new Status(row.getObject(1, UUID.class), row.getString(2), row.getInt(3)));
      }
    }
    return batch;
  }

  private static void mark(Connection connection, List<Status> batch) throws SQLException {
    connection.setAutoCommit(false);
    try (PreparedStatement mark = connection.prepareStatement(MARK)) {
      for (Status status : batch) {
        mark.setObject(1, status.id());
        mark.setInt(2, status.version());
        mark.addBatch();
      }
      mark.executeBatch();
    }
    connection.commit();
    connection.setAutoCommit(true);
  }

  @Override
  String completedRows() {
    return "inbox_handler_status WHERE completed_at IS NOT NULL";
  }
}
