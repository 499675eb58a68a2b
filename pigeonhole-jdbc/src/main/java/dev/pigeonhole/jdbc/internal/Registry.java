package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.HandlerId;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * Handler keys and their numbers. A number is computed from its key, and handed out under the lock
 * of the inbox's row. So a key that the database has forgotten, because it was restored or replaced
 * by a standby that lagged behind, gets the same number again, and no other key gets it: deliveries
 * that bear the number stay those of the key.
 */
final class Registry {

  private record Entry(HandlerId id, int kin) {}

  private static final String READ =
      "SELECT handler_key, key_id, family, kin FROM {handler} ORDER BY key_id";

  private static final String LOCK = "SELECT lanes FROM {inbox} WHERE id = 1 FOR UPDATE";

  private static final String INSERT =
      "INSERT INTO {handler} (handler_key, key_id, family, kin) VALUES (?, ?, ?, ?)";

  private static final String SHARE_KIN = "UPDATE {handler} SET kin = ? WHERE kin = ?";

  private static final String CELLS = "SELECT handler, count(*) FROM {lane} GROUP BY handler";

  private final Jdbc jdbc;
  private final Families families;

  Registry(Jdbc jdbc, Families families) {
    this.jdbc = jdbc;
    this.families = families;
  }

  List<List<HandlerId>> register(List<List<String>> wanted) {
    Map<String, Entry> known = jdbc.read(this::read);
    return ids(complete(known, wanted) ? known : jdbc.transaction(adding(wanted)), wanted);
  }

  /** The same without a connection of the pool. */
  List<List<HandlerId>> register(NodeConnection connection, List<List<String>> wanted) {
    Map<String, Entry> known = connection.transaction(this::read);
    return ids(complete(known, wanted) ? known : connection.transaction(adding(wanted)), wanted);
  }

  private Jdbc.Work<Map<String, Entry>> adding(List<List<String>> wanted) {
    return session -> add(session, wanted);
  }

  private List<List<HandlerId>> ids(Map<String, Entry> found, List<List<String>> wanted) {
    learn(found);
    return wanted.stream()
        .map(family -> family.stream().map(key -> entry(found, key).id()).toList())
        .toList();
  }

  private static Entry entry(Map<String, Entry> known, String key) {
    Entry entry = known.get(key);
    if (entry == null) {
      throw new IllegalStateException("Handler key '" + key + "' was not registered");
    }
    return entry;
  }

  Collection<HandlerId> handlers() {
    Map<String, Entry> known = jdbc.read(this::read);
    learn(known);
    return known.values().stream().map(Entry::id).toList();
  }

  private void learn(Map<String, Entry> known) {
    Map<Integer, Integer> kin = new HashMap<>();
    known.values().forEach(each -> kin.put(each.id().family(), each.kin()));
    families.learn(kin);
  }

  private Map<String, Entry> read(Session session) throws SQLException {
    Map<String, Entry> known = new LinkedHashMap<>();
    session.query(
        READ,
        params -> {},
        row -> {
          HandlerId id = new HandlerId(row.getString(1), row.getInt(2), row.getInt(3));
          return known.put(id.key(), new Entry(id, row.getInt(4)));
        });
    return known;
  }

  private static boolean complete(Map<String, Entry> known, List<List<String>> wanted) {
    for (List<String> family : wanted) {
      Set<Integer> kin = new HashSet<>();
      for (String key : family) {
        Entry entry = known.get(key);
        if (entry == null) {
          return false;
        }
        kin.add(entry.kin());
      }
      if (kin.size() > 1) {
        return false;
      }
    }
    return true;
  }

  /** Does what is missing; whoever comes second finds it done. */
  private Map<String, Entry> add(Session session, List<List<String>> wanted) throws SQLException {
    int lanes =
        session
            .one(LOCK, params -> {}, row -> row.getInt(1))
            .orElseThrow(
                () -> new IllegalStateException("Open the store before registering handlers"));
    Map<String, Entry> known = read(session);
    for (List<String> keys : wanted) {
      Entry first =
          keys.stream().map(known::get).filter(each -> each != null).findFirst().orElse(null);
      for (String key : first == null ? oldestFirst(keys) : keys) {
        if (known.containsKey(key)) {
          continue;
        }
        int keyId = freeNumber(known, key);
        HandlerId id = new HandlerId(key, keyId, first == null ? keyId : first.id().family());
        Entry entry = new Entry(id, first == null ? keyId : first.kin());
        session.update(
            INSERT, params -> params.add(key).add(id.keyId()).add(id.family()).add(entry.kin()));
        known.put(key, entry);
        first = first == null ? entry : first;
      }
      shareKin(session, known, keys);
    }
    addCells(session, known, lanes);
    return known;
  }

  /** The order in which versions of an application register them; it decides the family. */
  private static List<String> oldestFirst(List<String> keys) {
    List<String> order = new ArrayList<>(keys);
    Collections.reverse(order);
    return order;
  }

  /** The key's own number, or the next one if another key has it. */
  private static int freeNumber(Map<String, Entry> known, String key) {
    Set<Integer> taken =
        known.values().stream().map(each -> each.id().keyId()).collect(Collectors.toSet());
    CRC32 sum = new CRC32();
    sum.update(key.getBytes(StandardCharsets.UTF_8));
    int number = Math.max(1, (int) sum.getValue() & Integer.MAX_VALUE);
    while (taken.contains(number)) {
      number = number == Integer.MAX_VALUE ? 1 : number + 1;
    }
    return number;
  }

  private static void shareKin(Session session, Map<String, Entry> known, List<String> keys)
      throws SQLException {
    TreeSet<Integer> kins = new TreeSet<>();
    keys.forEach(key -> kins.add(entry(known, key).kin()));
    int shared = kins.first();
    for (int other : kins.tailSet(shared, false)) {
      session.update(SHARE_KIN, params -> params.add(shared).add(other));
      known.replaceAll(
          (key, entry) -> entry.kin() == other ? new Entry(entry.id(), shared) : entry);
    }
  }

  private static void addCells(Session session, Map<String, Entry> known, int lanes)
      throws SQLException {
    Set<Integer> there = new HashSet<>(session.query(CELLS, params -> {}, row -> row.getInt(1)));
    List<List<Integer>> missing = new ArrayList<>();
    known.values().stream()
        .map(each -> each.id().family())
        .distinct()
        .filter(family -> !there.contains(family))
        .forEach(
            family ->
                IntStream.range(0, lanes).forEach(lane -> missing.add(List.of(family, lane))));
    session.insert(
        "INSERT INTO {lane} (handler, lane) VALUES ",
        "(?, ?)",
        missing,
        (params, cell) -> params.add(cell.get(0).intValue()).add(cell.get(1).intValue()));
  }
}
