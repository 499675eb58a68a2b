package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Finds the identities that other open transactions hold: those that they are inserting, which no
 * SELECT shows, and those whose rows they have locked. Each is tried without waiting and taken back
 * at once. Correctness does not depend on the answer, because what was free may be held a moment
 * later.
 */
final class HeldIdentities {

  // A row that is never committed; its number is below those of messages.
  private static final String COLUMNS =
      """
      INSERT INTO {message} (seq, source, id, token, lane, type, channel, transport, content_type,
                             content_hash, headers, received_at)
      VALUES\s""";

  /** Of one identity, with {@link #bind}. */
  static final String INSERT = COLUMNS + "(?, ?, ?, 0, 0, '', '', '', '', X'', X'', {now})";

  private static final int PER_STATEMENT = 1000;

  // A block of PL/pgSQL has neither parameters nor an answer, so both travel in settings of the
  // transaction. Index: message_identity.
  private static final String OF_POSTGRES =
      """
      SELECT set_config('statement_timeout', '%d', true), set_config('lock_timeout', '%d', true)%s,
             """
          + PostgresStatements.BY_INDEX
          + """
      , set_config('pigeonhole.sources', ?::text[]::text, true),
        set_config('pigeonhole.ids', ?::text[]::text, true);
      DO $$
      DECLARE
        sources text[] := current_setting('pigeonhole.sources');
        ids text[] := current_setting('pigeonhole.ids');
        held int[] := ARRAY[]::int[];
      BEGIN
        FOR i IN 1 .. cardinality(ids) LOOP
          BEGIN
      """
          + COLUMNS
          + """
            (-1 - (random() * 1e18)::bigint, sources[i], ids[i], 0, 0, '', '', '', '', '', '', {now})
            ON CONFLICT (source, id) DO NOTHING;
            PERFORM 1 FROM {message} WHERE source = sources[i] AND id = ids[i] FOR UPDATE;
            RAISE SQLSTATE 'PHFRE';
          EXCEPTION
            WHEN lock_not_available THEN held := held || i;
            WHEN SQLSTATE 'PHFRE' THEN NULL;
          END;
        END LOOP;
        PERFORM set_config('pigeonhole.held', held::text, true);
      END $$;
      SELECT current_setting('pigeonhole.held')::int[]
      """;

  // Index: message_identity.
  private static final String OF_MARIADB =
      """
      SET STATEMENT innodb_lock_wait_timeout = %d FOR
      BEGIN NOT ATOMIC
        DECLARE waits boolean DEFAULT FALSE;
        DECLARE held longtext DEFAULT '';
        DECLARE CONTINUE HANDLER FOR 1205 SET waits = TRUE;
        %s
        SELECT held;
      END
      """;

  private static final String OF_MARIADB_ONE =
      INSERT
          + """
       ON DUPLICATE KEY UPDATE token = token;
      IF waits THEN SET held = CONCAT(held, %d, ' '), waits = FALSE; END IF;
      """;

  private HeldIdentities() {}

  static void bind(Params params, MessageRef identity) throws SQLException {
    long seq = ThreadLocalRandom.current().nextLong(Long.MIN_VALUE, 0);
    params.add(seq).add(identity.source()).add(identity.id());
  }

  /** Asks in the transaction of the session, which is rolled back. */
  static Set<MessageRef> of(Session session, Statements statements, List<MessageRef> identities)
      throws SQLException {
    try {
      return statements.held(session, identities);
    } catch (SQLException e) {
      if (session.dialect.fault(e) == Fault.LOST) {
        throw e;
      }
      // It took too long, or the server allows no such question: then all of them wait.
      return Set.copyOf(identities);
    } finally {
      session.dialect.rollback(session.connection);
    }
  }

  /** All of them in one round trip, each in a subtransaction that is rolled back. */
  static Set<MessageRef> onPostgres(Session session, List<MessageRef> identities)
      throws SQLException {
    Set<MessageRef> held = new HashSet<>();
    session.queryNth(
        PostgresStatements.limits(session, session.sql(OF_POSTGRES)),
        2,
        params -> {
          params.array("text", identities.stream().map(MessageRef::source).toArray(String[]::new));
          params.array("text", identities.stream().map(MessageRef::id).toArray(String[]::new));
        },
        row -> {
          for (Integer position : (Integer[]) row.getArray(1).getArray()) {
            held.add(identities.get(position - 1));
          }
          return held;
        });
    return held;
  }

  /** A thousand in each round trip; a statement that had to wait takes back itself alone. */
  static Set<MessageRef> onMariaDb(Session session, List<MessageRef> identities)
      throws SQLException {
    Set<MessageRef> held = new HashSet<>();
    for (List<MessageRef> part : Lists.chunks(identities, PER_STATEMENT)) {
      String each = session.sql(OF_MARIADB_ONE);
      String all =
          IntStream.range(0, part.size()).mapToObj(each::formatted).collect(Collectors.joining());
      session.query(
          OF_MARIADB.formatted(session.lockWait.seconds, all),
          params -> {
            for (MessageRef identity : part) {
              bind(params, identity);
            }
          },
          row ->
              Arrays.stream(row.getString(1).split(" "))
                  .filter(position -> !position.isEmpty())
                  .map(position -> held.add(part.get(Integer.parseInt(position))))
                  .toList());
    }
    return held;
  }
}
