package dev.pigeonhole.jdbc;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.sql.DataSource;

/** An open store on real time, and the short words that these tests are told in. */
final class Rig {
  static final int LANES = 4;
  static final StoreSettings SETTINGS = new StoreSettings("shop", LANES, 4, 1 << 20);

  final TestDatabase database;
  final JdbcStore store;
  final HandlerId a;
  final HandlerId b;

  private Rig(TestDatabase database, JdbcStore store) {
    this.database = database;
    this.store = store;
    store.maintenance().open(SETTINGS);
    List<List<HandlerId>> ids = store.maintenance().register(List.of(List.of("a"), List.of("b")));
    this.a = ids.get(0).get(0);
    this.b = ids.get(1).get(0);
  }

  /** Makes the tables and opens a store on them. */
  static Rig on(TestDatabase database) {
    InboxTables.in(database);
    return on(database, database.pool(12));
  }

  /** Opens a store on tables that are there. */
  static Rig on(TestDatabase database, DataSource dataSource) {
    return new Rig(database, JdbcStore.of(dataSource).beatsOn(database.dataSource()));
  }

  NewMessage message(String id, HandlerId... handlers) {
    return message(id, "content of " + id, handlers);
  }

  static NewMessage message(String id, String content, HandlerId... handlers) {
    return Messages.plain(id, lane(id.hashCode()), content, handlers);
  }

  static NewMessage message(String id, long keyHash, String content, HandlerId... handlers) {
    return Messages.ordered(id, lane(Long.hashCode(keyHash)), keyHash, content, handlers);
  }

  /** One with a place of its own. */
  NewMessage placed(String id, long place, HandlerId... handlers) {
    return Messages.placed(id, lane(id.hashCode()), place, "content of " + id, handlers);
  }

  private static int lane(int hash) {
    return Math.floorMod(hash, LANES);
  }

  AcceptResult accept(NewMessage message) {
    return store.acceptor().accept(List.of(message)).get(0);
  }

  List<NewMessage> messages(String prefix, int count, HandlerId... handlers) {
    return IntStream.range(0, count).mapToObj(i -> message(prefix + i, handlers)).toList();
  }

  static List<Cell> cells(HandlerId handler) {
    return IntStream.range(0, LANES).mapToObj(lane -> new Cell(lane, handler.family())).toList();
  }

  List<Delivery> open(HandlerId handler, int limit) {
    return Stream.concat(
            store
                .deliveries()
                .fresh(cells(handler).stream().map(cell -> Range.after(cell, 0, limit)).toList())
                .stream(),
            store
                .deliveries()
                .due(cells(handler).stream().map(cell -> DueRange.fromStart(cell, limit)).toList())
                .rows()
                .stream())
        .toList();
  }

  Delivery only(HandlerId handler) {
    List<Delivery> open = open(handler, 10);
    if (open.size() != 1) {
      throw new AssertionError("Expected one open delivery: " + open);
    }
    return open.get(0);
  }

  Set<Delivery> settle(List<Delivery> deliveries, Outcome outcome) {
    return trySettle(deliveries, outcome).refused();
  }

  /** The same; the result also names the rows that are locked and were not settled. */
  SettleResult trySettle(List<Delivery> deliveries, Outcome outcome) {
    return store
        .deliveries()
        .settle(deliveries.stream().map(each -> new Settlement(each, outcome)).toList());
  }

  Set<Delivery> complete(List<Delivery> deliveries) {
    return settle(deliveries, new Outcome.Completed());
  }

  static Failure failure(String text) {
    return new Failure(
        ErrorCode.HANDLER_FAILED, "shop.Broken", text, "stack", "print", Instant.now());
  }

  /** A table's name as this database quotes it. */
  String table(String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + "pigeonhole_" + name + quote;
  }

  long count(String table) {
    return database.count("SELECT count(*) FROM " + table(table));
  }
}
