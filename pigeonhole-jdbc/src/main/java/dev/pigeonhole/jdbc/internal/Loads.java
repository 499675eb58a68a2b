package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.Versions;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Loads messages without bringing more content at once than was asked for.
 *
 * <p>The size of a message is unknown before its row is read. So one statement reads all rows, with
 * the size of each and the content of the small ones. It can bring no more than what was asked for,
 * even if every message is just small enough. Large ones follow in a second statement, as many as
 * there is room for: a round trip more is little beside what they bring.
 */
final class Loads {
  private static final int SEQS_PER_STATEMENT = 1000;

  /**
   * A message up to this size comes along with its row, if all of them together may be so large.
   */
  private static final long SMALL = 32 << 10;

  // Index: message_pk.
  private static final String ROWS =
      """
      SELECT seq, source, id, type, channel, transport, ordering_key,
             CASE WHEN :size <= :small THEN content END, content_type,
             CASE WHEN :size <= :small THEN headers END,
             content_hash, occurred_at, received_at, edited, token, :size
      FROM {message}
      WHERE seq :seqs
      """
          .replace(":size", "COALESCE(OCTET_LENGTH(content), 0) + OCTET_LENGTH(headers)");

  // Index: message_pk.
  private static final String BODIES =
      "SELECT seq, content, headers FROM {message} WHERE seq :seqs";

  // Index: edit_pk.
  private static final String EDITS =
      "SELECT seq, handler, content, content_hash FROM {edit} WHERE seq :seqs";

  private final Session session;
  private final Statements statements;
  private final Map<Long, StoredMessage> messages = new HashMap<>();
  private final Map<Long, Long> large = new HashMap<>(); // number → size
  private final Set<Long> edited = new LinkedHashSet<>();
  private final Set<Long> left = new LinkedHashSet<>();

  private Loads(Session session, Statements statements) {
    this.session = session;
    this.statements = statements;
  }

  /** See {@link Deliveries#load(List, long)}. */
  static Loaded load(Session session, Statements statements, List<Long> seqs, long bytes)
      throws SQLException {
    if (seqs.isEmpty()) {
      return new Loaded(Map.of(), Set.of());
    }
    Loads loads = new Loads(session, statements);
    long brought = loads.readRows(seqs, small(bytes / seqs.size()));
    loads.readBodies(loads.chosen(seqs, bytes - brought));
    loads.readEdits();
    return new Loaded(loads.messages, loads.left);
  }

  /** A power of two: servers keep plans by the text of a statement. */
  private static long small(long share) {
    return Long.highestOneBit(Math.min(SMALL, share));
  }

  /** Answers how many bytes of content and headers it has brought. */
  private long readRows(List<Long> seqs, long small) throws SQLException {
    String text = ROWS.replace(":small", String.valueOf(small));
    long brought = 0;
    for (List<Long> part : Lists.chunks(seqs, SEQS_PER_STATEMENT)) {
      for (long size : statements.bySeqs(session, text, part, row -> addRow(row, small))) {
        brought += size;
      }
    }
    return brought;
  }

  private long addRow(ResultSet row, long small) throws SQLException {
    StoredMessage message = message(session, row);
    messages.put(message.seq(), message);
    if (row.getBoolean(14)) {
      edited.add(message.seq());
    }
    long size = row.getLong(16);
    if (size <= small) {
      return size;
    }
    large.put(message.seq(), size);
    return 0;
  }

  private static StoredMessage message(Session session, ResultSet row) throws SQLException {
    return new StoredMessage(
        row.getLong(1),
        Versions.first(row.getLong(15)),
        row.getString(2),
        row.getString(3),
        row.getString(4),
        row.getString(5),
        row.getString(6),
        row.getString(7),
        row.getBytes(8),
        row.getString(9),
        row.getBytes(10),
        row.getBytes(11),
        session.dialect.read(row, 12),
        session.time(row, 13),
        Map.of());
  }

  /** The large ones whose content is read, too; what there is no room for is left out. */
  private List<Long> chosen(List<Long> seqs, long room) {
    List<Long> chosen = new ArrayList<>();
    long free = room;
    int edits = 0;
    for (Long seq : seqs) {
      long size = large.getOrDefault(seq, 0L);
      boolean first = seq.equals(seqs.get(0));
      boolean tooMany = edited.contains(seq) && ++edits > Deliveries.EDITED_AT_ONCE;
      if (messages.containsKey(seq) && (tooMany || (size > free && !first))) {
        left.add(seq);
      } else if (size > 0) {
        free -= size;
        chosen.add(seq);
      }
    }
    left.forEach(messages::remove);
    edited.removeAll(left);
    return chosen;
  }

  private void readBodies(List<Long> seqs) throws SQLException {
    Map<Long, StoredMessage> rows = new HashMap<>(messages);
    messages.keySet().removeAll(seqs); // one that is gone by now does not come back
    for (List<Long> part : Lists.chunks(seqs, SEQS_PER_STATEMENT)) {
      statements.bySeqs(
          session,
          BODIES,
          part,
          row -> {
            StoredMessage message = Objects.requireNonNull(rows.get(row.getLong(1)));
            return messages.put(message.seq(), message.withBody(row.getBytes(2), row.getBytes(3)));
          });
    }
  }

  private void readEdits() throws SQLException {
    if (edited.isEmpty()) {
      return;
    }
    Map<Long, Map<Integer, EditedContent>> edits = new HashMap<>();
    statements.bySeqs(
        session,
        EDITS,
        edited,
        row ->
            edits
                .computeIfAbsent(row.getLong(1), any -> new HashMap<>())
                .put(row.getInt(2), new EditedContent(row.getBytes(3), row.getBytes(4))));
    edits.forEach((seq, of) -> messages.computeIfPresent(seq, (any, it) -> it.edited(of)));
  }
}
