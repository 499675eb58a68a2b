package dev.pigeonhole.benchmarks.seeds;

import dev.pigeonhole.benchmarks.subject.Run;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/** The consumer and the processor of the article, statement by statement. */
final class ArticleLoop extends SeedLoop {

  static final int BATCH = 1000;

  private static final String TYPE = "OrderCreatedIntegrationEvent";
  private static final String NUMBER = "\"number\": ";

  private static final String INSERT =
      """
      INSERT INTO inbox_messages (id, type, content, received_on_utc)
      VALUES (?, ?, ?::jsonb, ?)
      ON CONFLICT (id) DO NOTHING
      """;

  private static final String SELECT =
      """
      SELECT id, type, content FROM inbox_messages
      WHERE processed_on_utc IS NULL
      ORDER BY received_on_utc
      LIMIT %d
      FOR UPDATE SKIP LOCKED
      """
          .formatted(BATCH);

  private static final String UPDATE =
      """
      UPDATE inbox_messages
      SET processed_on_utc = v.processed_on_utc, error = v.error
      FROM unnest(?::uuid[], ?::timestamptz[], ?::text[]) AS v(id, processed_on_utc, error)
      WHERE inbox_messages.id = v.id
      """;

  ArticleLoop(Run run) {
    super(run);
  }

  @Override
  void consume(Connection connection) throws SQLException {
    try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
      for (int number = next(); number >= 0; number = next()) {
        insert.setObject(1, id(number));
        insert.setString(2, TYPE);
        insert.setString(3, json(number));
        insert.setObject(4, OffsetDateTime.now(ZoneOffset.UTC));
        insert.executeUpdate();
      }
    }
  }

  /** Of version 7, as in the article: rising with time, which is kind to the index. */
  private UUID id(int number) {
    long high = (System.currentTimeMillis() << 16) | 0x7000;
    long low = 0x8000000000000000L | (run.seed() << 32) | number;
    return new UUID(high, low);
  }

  private String json(int number) {
    String payload = new String(run.payload(number), StandardCharsets.US_ASCII);
    return "{\"number\": %d, \"payload\": \"%s\"}".formatted(number, payload);
  }

  @Override
  int process(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    List<UUID> ids = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(SELECT);
        ResultSet row = select.executeQuery()) {
      while (row.next()) {
        ids.add(row.getObject(1, UUID.class));
        handle(number(row.getString(3)));
      }
    }
    if (!ids.isEmpty()) {
      update(connection, ids);
    }
    connection.commit();
    completed(ids.size());
    return ids.size();
  }

  // Less than a JSON parser would do; the article is not to wait for one.
  private static int number(String json) {
    int at = json.indexOf(NUMBER) + NUMBER.length();
    return Integer.parseInt(json, at, json.indexOf(',', at), 10);
  }

  private static void update(Connection connection, List<UUID> ids) throws SQLException {
    String[] times = new String[ids.size()];
    Arrays.fill(times, OffsetDateTime.now(ZoneOffset.UTC).toString());
    try (PreparedStatement update = connection.prepareStatement(UPDATE)) {
      update.setArray(1, connection.createArrayOf("uuid", ids.toArray()));
      update.setArray(2, connection.createArrayOf("text", times));
      update.setArray(3, connection.createArrayOf("text", new String[ids.size()]));
      update.executeUpdate();
    }
  }

  @Override
  String completedRows() {
    return "inbox_messages WHERE processed_on_utc IS NOT NULL AND error IS NULL";
  }
}
