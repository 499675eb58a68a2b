package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.jdbc.internal.Statements.Added;
import dev.pigeonhole.jdbc.internal.Statements.Inserted;
import dev.pigeonhole.jdbc.internal.Statements.Known;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Versions;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The gate: for one (message, handler family) at most one of delivery, later, poison and receipt
 * exists, whoever races.
 *
 * <p><b>New.</b> The unique key of {@code message} decides who stores an identity; the same
 * statement, or at least the same commit, adds its deliveries.
 *
 * <p><b>Repeat.</b> Lock the message row; then, <em>in a later statement</em>, add a delivery for
 * each family that stands in none of the four tables. Only a holder of that lock creates, movers
 * change two tables in one commit, and only retention removes, holding the same lock. So the later
 * statement's snapshot contains whatever an earlier holder did. In one statement with the lock the
 * snapshot would be older than the lock, and a delivery that was created and finished while the
 * statement waited would be created again. The check is the insert itself: a SELECT in front of an
 * INSERT reads stale rows in a caller's snapshot transaction. There {@code touched} makes
 * PostgreSQL refuse with 40001 instead.
 *
 * <p><b>Unknown outcome.</b> A call writes a random token into the rows it stores. When its commit
 * is in doubt the whole call is done again with the same token: a row that carries it was stored by
 * this call, whichever of its tries it was.
 */
final class Gate {

  /** Numbers come in steps of this size, one step per statement; see sequence message_seq. */
  static final int ROWS_PER_STATEMENT = 1000;

  private static final long BYTES_PER_STATEMENT = 4_000_000;
  private static final long BYTES_BESIDE_CONTENT = 300;
  private static final int MOST_VANISHINGS = 50;

  // Indexes: delivery_pk, later_pk, poison_pk, receipt_pk. Counted, because a server turns NOT
  // EXISTS
  // into a join, and one that believes these tables empty into a walk through all of them.
  static final String STANDS_NOWHERE =
      """
       WHERE 0 = (SELECT count(*) FROM {delivery} d
                  WHERE d.lane = w.lane AND d.handler :same AND d.seq = w.seq)
         AND 0 = (SELECT count(*) FROM {later} l WHERE l.seq = w.seq AND l.handler :same)
         AND 0 = (SELECT count(*) FROM {poison} p WHERE p.seq = w.seq AND p.handler :same)
         AND 0 = (SELECT count(*) FROM {receipt} r
                  WHERE r.seq = w.seq AND r.handler :same AND r.%s)
      """
          .formatted(Receipts.COUNTS);

  private static final String ADD_READY =
      """
      INSERT INTO {delivery} (lane, handler, seq, version, key_id, key_hash)
      WITH w (lane, handler, seq, version, key_id) AS (VALUES :rows)
      SELECT w.lane, w.handler, w.seq, w.version, w.key_id,
             (SELECT m.key_hash FROM {message} m WHERE m.seq = w.seq)
      FROM w
      """;

  private static final String ADD_WAITING =
      """
      INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, due_at, reason)
      WITH w (lane, handler, seq, version, key_id) AS (VALUES :rows)
      SELECT w.lane, w.handler, w.seq, w.version, w.key_id,
             (SELECT m.key_hash FROM {message} m WHERE m.seq = w.seq), :due, 'not before'
      FROM w
      """;

  // The copy may lack the ordering key of what was stored.
  private static final String ADD_PLACED =
      """
      INSERT INTO {later} (lane, handler, seq, version, key_id, key_hash, due_at, place, reason)
      WITH w (lane, handler, seq, version, key_id) AS (VALUES :rows)
      SELECT w.lane, w.handler, w.seq, w.version, w.key_id,
             (SELECT m.key_hash FROM {message} m WHERE m.seq = w.seq), {now},
             (SELECT CASE WHEN m.key_hash IS NULL THEN :place ELSE 0 END
              FROM {message} m WHERE m.seq = w.seq),
             'priority'
      FROM w
      """;

  // Index: delivery_pk.
  private static final String WITHDRAW_FRESH =
      "DELETE FROM {delivery} WHERE lane = ? AND handler = ? AND seq = ?";

  // Index: later_pk.
  private static final String WITHDRAW_LATE =
      "DELETE FROM {later} WHERE lane = ? AND handler = ? AND seq = ?";

  // Index: message_pk.
  private static final String TOUCH =
      """
      UPDATE {message}
      SET touched = touched + ?, repeats = repeats + ?, last_repeat_at = {now}
      WHERE seq = ?
      """;

  // Index: message_pk.
  private static final String FILL =
      """
      UPDATE {message}
      SET type = ?, oldest_type = ?, channel = ?, transport = ?, lane = ?, ordering_key = ?,
          key_hash = ?, content = ?, content_type = ?, headers = ?, content_hash = ?, occurred_at = ?, dropped = FALSE
      WHERE seq = ? AND dropped = TRUE
      """;

  // Index: message_pk.
  private static final String ADOPT =
      """
      UPDATE {message} SET type = ?, oldest_type = ?, channel = ?, transport = ?, content_hash = ?
      WHERE seq = ? AND transport = '%s'
      """
          .formatted(NewMessage.GUARD);

  // Index: receipt_pk.
  private static final String FINISHED =
      "SELECT seq, handler FROM {receipt} WHERE seq :seqs AND " + Receipts.COUNTS;

  // Index: unhandled_pk.
  private static final String TAKEN = "DELETE FROM {unhandled} WHERE seq = ?";

  private static final Comparator<MessageRef> KEY_ORDER =
      Comparator.<MessageRef, byte[]>comparing(ref -> utf8(ref.source()), Arrays::compareUnsigned)
          .thenComparing(ref -> utf8(ref.id()), Arrays::compareUnsigned);

  private final Statements statements;
  private final Families families;

  Gate(Statements statements, Families families) {
    this.statements = statements;
    this.families = families;
  }

  /** The messages of one call, or a part of them, and what is known of them so far. */
  static final class Batch {
    final List<NewMessage> messages;
    final long token;

    /** Those that may claim to have stored their identity; a copy behind one may not. */
    final Set<Integer> originals;

    final AcceptResult[] results;
    private final Map<MessageRef, Integer> firsts = new LinkedHashMap<>();
    private final Map<MessageRef, Known> known = new HashMap<>();

    Batch(List<NewMessage> messages, long token, Set<Integer> originals) {
      this.messages = messages;
      this.token = token;
      this.originals = originals;
      this.results = new AcceptResult[messages.size()];
      for (int i = 0; i < messages.size(); i++) {
        firsts.putIfAbsent(ref(messages.get(i)), i);
      }
    }

    static Batch of(List<NewMessage> messages, long token) {
      return new Batch(messages, token, originals(messages));
    }

    /** The first position of each identity. */
    static Set<Integer> originals(List<NewMessage> messages) {
      Map<MessageRef, Integer> firsts = new HashMap<>();
      for (int i = 0; i < messages.size(); i++) {
        firsts.putIfAbsent(ref(messages.get(i)), i);
      }
      return Set.copyOf(firsts.values());
    }

    AcceptResult stored(long seq) {
      return new AcceptResult.Stored(seq, Versions.first(token));
    }

    boolean answered() {
      return Arrays.stream(results).allMatch(result -> result != null);
    }

    /** Whether messages that were known have got deliveries. */
    boolean addsDeliveries() {
      return Arrays.stream(results)
          .anyMatch(
              result -> result instanceof AcceptResult.Known known && !known.added().isEmpty());
    }

    /** Whether all fits into one statement. */
    boolean small() {
      return parts(messages, firstPositions()).size() <= 1;
    }

    private List<Integer> firstPositions() {
      return List.copyOf(firsts.values());
    }

    private List<MessageRef> unknown() {
      return firsts.entrySet().stream()
          .filter(first -> results[first.getValue()] == null && !known.containsKey(first.getKey()))
          .map(Map.Entry::getKey)
          .toList();
    }

    private List<Integer> unanswered() {
      return IntStream.range(0, results.length).filter(i -> results[i] == null).boxed().toList();
    }
  }

  static MessageRef ref(NewMessage message) {
    return new MessageRef(message.source(), message.id());
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Accepts the batch in the transaction of the session. */
  void accept(Session session, Batch batch) throws SQLException {
    insert(session, batch, batch.firstPositions());
    repeats(session, batch);
  }

  /** The first step alone: new identities are stored and answered, the others stay open. */
  void insertNew(Session session, Batch batch) throws SQLException {
    insert(session, batch, batch.firstPositions());
  }

  private void insert(Session session, Batch batch, List<Integer> positions) throws SQLException {
    CrashPoints.reach("accept.before-insert");
    boolean first = true;
    for (List<Integer> part : parts(batch.messages, positions)) {
      if (!first) {
        CrashPoints.reach("accept.in-batch");
      }
      first = false;
      List<NewMessage> messages = part.stream().map(batch.messages::get).toList();
      Inserted inserted =
          statements.insert(
              session, messages.stream().map(families::distinct).toList(), batch.token);
      inserted.fresh().forEach((at, seq) -> batch.results[part.get(at)] = batch.stored(seq));
      inserted.known().values().forEach(known -> batch.known.put(known.ref(), known));
    }
  }

  /** Answers what the insert left open: identities that were there, and copies within the list. */
  void repeats(Session session, Batch batch) throws SQLException {
    if (batch.answered()) {
      return;
    }
    for (int round = 0; ; round++) {
      lock(session, batch);
      List<MessageRef> vanished = batch.unknown();
      if (vanished.isEmpty()) {
        break;
      }
      if (round >= MOST_VANISHINGS) {
        throw new SQLException("Message rows keep vanishing: " + vanished.get(0), "40001");
      }
      // It was there for the insert and gone for the lock: it was pruned, so it is new again.
      insert(session, batch, vanished.stream().map(batch.firsts::get).toList());
    }
    decide(session, batch);
  }

  private void lock(Session session, Batch batch) throws SQLException {
    Set<MessageRef> wanted = new LinkedHashSet<>(batch.unknown());
    for (int i : batch.unanswered()) {
      wanted.add(ref(batch.messages.get(i)));
    }
    wanted.removeAll(batch.known.keySet());
    if (!wanted.isEmpty()) {
      // In the order of the insert: two batches that share identities never lock crosswise.
      List<MessageRef> inOrder = wanted.stream().sorted(KEY_ORDER).toList();
      for (Known known : statements.lock(session, inOrder)) {
        batch.known.put(known.ref(), known);
      }
    }
  }

  private void decide(Session session, Batch batch) throws SQLException {
    Map<Long, Integer> repeats = new LinkedHashMap<>();
    Set<Long> stale = new LinkedHashSet<>();
    List<Copy> copies = new ArrayList<>();
    Map<Long, NewMessage> told = new HashMap<>(); // of which only guards knew, and no content
    List<Wanted> wanted = new ArrayList<>();
    Map<Integer, List<HandlerId>> added = new LinkedHashMap<>();
    for (int i : batch.unanswered()) {
      NewMessage message = batch.messages.get(i);
      Known known = batch.known.get(ref(message));
      if (known == null) {
        batch.results[i] = copyOfForgotten(session, batch, message);
        continue;
      }
      if (known.token() == batch.token && batch.originals.contains(i)) {
        batch.results[i] = batch.stored(known.seq());
        continue;
      }
      repeats.merge(known.seq(), 1, Integer::sum);
      if (known.stale()) {
        stale.add(known.seq());
      }
      if (message.onConflict() != OnConflict.REPEAT
          && !(known.hasCopy(message) && message.isCopyOf(told.get(known.seq())))) {
        batch.results[i] = new AcceptResult.Differs(known.seq());
        if (message.onConflict() == OnConflict.KEEP) {
          copies.add(new Copy(known.seq(), message));
        }
        continue;
      }
      if (known.dropped()) {
        told.putIfAbsent(known.seq(), message);
      }
      added.put(i, new ArrayList<>());
      for (HandlerId handler : families.distinct(message).handlers()) {
        wanted.add(new Wanted(i, known, known.lane(), handler, message));
      }
    }
    keep(session, copies);
    Set<Long> touched = new LinkedHashSet<>();
    for (Wanted each : addOnce(session, fill(session, distinct(wanted)))) {
      added.getOrDefault(each.position(), new ArrayList<>()).add(each.handler());
      touched.add(each.known().seq());
    }
    added.forEach(
        (i, handlers) -> {
          Known known = batch.known.get(ref(batch.messages.get(i)));
          if (known != null) {
            batch.results[i] =
                new AcceptResult.Known(known.seq(), known.receivedAt(), List.copyOf(handlers));
          }
        });
    touch(session, repeats, stale, touched);
    if (session.foreign && !touched.isEmpty()) {
      statements.noteAdded(session);
    }
    session.batch(TAKEN, List.copyOf(touched), (params, seq) -> params.add(seq.longValue()));
  }

  /** The first for each family of a message, in the order of the list. */
  private List<Wanted> distinct(List<Wanted> wanted) {
    Set<List<Long>> claimed = new HashSet<>();
    return wanted.stream()
        .filter(
            each ->
                claimed.add(
                    List.of(each.known().seq(), (long) families.head(each.handler().family()))))
        .toList();
  }

  private record Wanted(
      int position, Known known, int lane, HandlerId handler, NewMessage message) {

    Wanted in(int other) {
      return new Wanted(position, known, other, handler, message);
    }
  }

  /**
   * A guard knows an identity and nothing else, so whoever adds the first deliveries brings what
   * they need: the content with its type, and the place in the order. Nothing is open meanwhile
   * that could have another one. It must be there before the deliveries, which are put in its lane.
   * Where every handler has finished, nobody needs it; but from now on it is the inbox's to forget,
   * which has told somebody that it is known.
   */
  private List<Wanted> fill(Session session, List<Wanted> wanted) throws SQLException {
    Set<Long> empty =
        wanted.stream()
            .filter(each -> each.known().dropped())
            .map(each -> each.known().seq())
            .collect(Collectors.toCollection(LinkedHashSet::new));
    if (empty.isEmpty()) {
      return wanted;
    }
    Set<List<Long>> finished =
        Set.copyOf(
            statements.bySeqs(
                session,
                FINISHED,
                empty,
                row -> List.of(row.getLong(1), (long) families.head(row.getInt(2)))));
    Map<Long, Wanted> bringing = new LinkedHashMap<>();
    Map<Long, Wanted> adopting = new LinkedHashMap<>();
    for (Wanted each : wanted) {
      long seq = each.known().seq();
      if (empty.contains(seq)) {
        long head = families.head(each.handler().family());
        (finished.contains(List.of(seq, head)) ? adopting : bringing).putIfAbsent(seq, each);
      }
    }
    adopting.keySet().removeAll(bringing.keySet());
    session.batch(FILL, List.copyOf(bringing.values()), Gate::bindFilling);
    session.batch(ADOPT, List.copyOf(adopting.values()), Gate::bindAdopting);
    return wanted.stream()
        .map(
            each -> {
              Wanted filling = bringing.get(each.known().seq());
              return filling == null ? each : each.in(filling.message().lane());
            })
        .toList();
  }

  private static void bindFilling(Params params, Wanted each) throws SQLException {
    NewMessage message = each.message();
    params
        .add(message.type())
        .add(message.oldestType())
        .add(message.channel())
        .add(message.transport())
        .add(message.lane())
        .add(message.orderingKey())
        .add(message.keyHash())
        .add(message.content())
        .add(message.contentType())
        .add(message.headers())
        .add(message.contentHash())
        .add(message.occurredAt())
        .add(each.known().seq());
  }

  private static void bindAdopting(Params params, Wanted each) throws SQLException {
    NewMessage message = each.message();
    params
        .add(message.type())
        .add(message.oldestType())
        .add(message.channel())
        .add(message.transport())
        .add(message.contentHash())
        .add(each.known().seq());
  }

  private record Copy(long seq, NewMessage message) {}

  /**
   * Adds the deliveries that do not exist yet, and answers those that were added. Usually there are
   * none. Only if there are, it matters that another version may have joined families since we read
   * them.
   */
  private List<Wanted> addOnce(Session session, List<Wanted> wanted) throws SQLException {
    List<Wanted> added = add(session, wanted);
    if (added.isEmpty() || !families.learnIfBehind(session)) {
      return added;
    }
    for (String withdraw : List.of(WITHDRAW_FRESH, WITHDRAW_LATE)) {
      session.batch(
          withdraw,
          added,
          (params, each) ->
              params.add(each.lane()).add(each.handler().family()).add(each.known().seq()));
    }
    return add(session, distinct(wanted));
  }

  private List<Wanted> add(Session session, List<Wanted> wanted) throws SQLException {
    List<Wanted> added = new ArrayList<>();
    Instant now = null;
    Map<Instant, List<Wanted>> waiting = new LinkedHashMap<>();
    Map<Long, List<Wanted>> placed = new LinkedHashMap<>();
    List<Wanted> ready = new ArrayList<>();
    for (Wanted each : wanted) {
      Instant notBefore = each.message().notBefore();
      if (notBefore != null && now == null) {
        now = session.now();
      }
      if (notBefore != null && now != null && notBefore.isAfter(now)) {
        waiting.computeIfAbsent(notBefore, time -> new ArrayList<>()).add(each);
      } else if (each.message().place() != 0) {
        placed.computeIfAbsent(each.message().place(), place -> new ArrayList<>()).add(each);
      } else {
        ready.add(each);
      }
    }
    for (List<Wanted> alike : byKin(ready)) {
      added.addAll(add(session, "{delivery}", session.sql(ADD_READY), alike));
    }
    for (Map.Entry<Instant, List<Wanted>> later : waiting.entrySet()) {
      String due = session.dialect.literal(later.getKey());
      for (List<Wanted> alike : byKin(later.getValue())) {
        added.addAll(add(session, "{later}", session.sql(ADD_WAITING).replace(":due", due), alike));
      }
    }
    for (Map.Entry<Long, List<Wanted>> at : placed.entrySet()) {
      String place = at.getKey().toString();
      for (List<Wanted> alike : byKin(at.getValue())) {
        added.addAll(
            add(session, "{later}", session.sql(ADD_PLACED).replace(":place", place), alike));
      }
    }
    return added;
  }

  /** Families without kin share a statement; one with kin needs its own list of numbers. */
  private List<List<Wanted>> byKin(List<Wanted> wanted) {
    return List.copyOf(
        wanted.stream()
            .collect(
                Collectors.groupingBy(
                    each -> {
                      Set<Integer> kin = families.kin(each.handler().family());
                      return kin.size() == 1 ? Set.<Integer>of() : kin;
                    },
                    LinkedHashMap::new,
                    Collectors.toList()))
            .values());
  }

  private List<Wanted> add(Session session, String table, String insert, List<Wanted> alike)
      throws SQLException {
    Set<Integer> kin = families.kin(alike.get(0).handler().family());
    String same = kin.size() == 1 ? "= w.handler" : "IN (" + Lists.numbers(kin) + ")";
    String rows =
        alike.stream()
            .map(
                each ->
                    "(%d, %d, %d, %d, %d)"
                        .formatted(
                            each.lane(),
                            each.handler().family(),
                            each.known().seq(),
                            Versions.first(each.known().token()),
                            each.handler().keyId()))
            .collect(Collectors.joining(", "));
    String text =
        session.dialect.returning(
            insert.replace(":rows", rows) + session.sql(STANDS_NOWHERE).replace(":same", same),
            "handler, seq");
    Map<Added, Wanted> byKey = new HashMap<>();
    alike.forEach(each -> byKey.put(new Added(each.handler().family(), each.known().seq()), each));
    List<Wanted> added = new ArrayList<>();
    for (Added key : statements.addMissing(session, table, text, families::kin)) {
      Wanted each = byKey.get(key);
      if (each != null) {
        added.add(each);
      }
    }
    return added;
  }

  /** A copy of what this very call has stored, handled by everybody and pruned since. */
  private static AcceptResult copyOfForgotten(Session session, Batch batch, NewMessage message)
      throws SQLException {
    Integer first = batch.firsts.get(ref(message));
    if (first != null && batch.results[first] instanceof AcceptResult.Stored stored) {
      return new AcceptResult.Known(stored.seq(), session.now(), List.of());
    }
    throw new IllegalStateException("Neither stored nor known: " + ref(message));
  }

  private void keep(Session session, List<Copy> copies) throws SQLException {
    session.insertIfAbsent(
        """
        INSERT INTO {conflict} (seq, type, channel, transport, content_type, content_hash, headers, content,
                                ordering_key, occurred_at, received_at)
        VALUES\s""",
        "seq, content_hash, type",
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now})",
        copies,
        (params, copy) ->
            params
                .add(copy.seq())
                .add(copy.message().type())
                .add(copy.message().channel())
                .add(copy.message().transport())
                .add(copy.message().contentType())
                .add(copy.message().contentHash())
                .add(copy.message().headers())
                .add(copy.message().content())
                .add(copy.message().orderingKey())
                .add(copy.message().occurredAt()));
  }

  /** Counts repeats, at most once a second per message so that a flood of them stays cheap. */
  private void touch(
      Session session, Map<Long, Integer> repeats, Set<Long> stale, Set<Long> touched)
      throws SQLException {
    List<Long> written =
        repeats.keySet().stream()
            .filter(seq -> stale.contains(seq) || touched.contains(seq))
            .sorted()
            .toList();
    session.batch(
        TOUCH,
        written,
        (params, seq) ->
            params
                .add(touched.contains(seq) ? 1 : 0)
                .add(repeats.getOrDefault(seq, 0).intValue())
                .add(seq.longValue()));
  }

  /** Consecutive parts of the list that fit into one statement each. */
  private static List<List<Integer>> parts(List<NewMessage> messages, List<Integer> positions) {
    List<List<Integer>> parts = new ArrayList<>();
    List<Integer> part = new ArrayList<>();
    long bytes = 0;
    for (int position : positions) {
      long size = size(messages.get(position));
      if (!part.isEmpty()
          && (part.size() >= ROWS_PER_STATEMENT || bytes + size > BYTES_PER_STATEMENT)) {
        parts.add(part);
        part = new ArrayList<>();
        bytes = 0;
      }
      part.add(position);
      bytes += size;
    }
    if (!part.isEmpty()) {
      parts.add(part);
    }
    return parts;
  }

  private static long size(NewMessage message) {
    byte[] content = message.content();
    return BYTES_BESIDE_CONTENT + message.headers().length + (content == null ? 0 : content.length);
  }

  /**
   * Positions in the order in which everybody inserts: by source, then id, as bytes. Two batches
   * that share identities then wait for each other and never deadlock.
   */
  static Integer[] inKeyOrder(List<NewMessage> messages) {
    byte[][] sources = new byte[messages.size()][];
    byte[][] ids = new byte[messages.size()][];
    Integer[] order = new Integer[messages.size()];
    for (int i = 0; i < order.length; i++) {
      sources[i] = utf8(messages.get(i).source());
      ids[i] = utf8(messages.get(i).id());
      order[i] = i;
    }
    Arrays.sort(
        order,
        (one, other) -> {
          int bySource = Arrays.compareUnsigned(sources[one], sources[other]);
          return bySource == 0 ? Arrays.compareUnsigned(ids[one], ids[other]) : bySource;
        });
    return order;
  }
}
