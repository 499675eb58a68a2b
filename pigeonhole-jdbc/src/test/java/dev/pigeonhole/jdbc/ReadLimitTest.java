package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.OnPoison;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Proxies;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.PreparedStatement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Whoever looks at an inbox keeps its database busy for half a minute at most. */
class ReadLimitTest {
  private static final int LIMIT_SECONDS = 30;
  private static final String LIMIT_OF_SERVER = "'statement_timeout', '30000'";

  /** What is done instead of limiting a statement to so many seconds. */
  private interface Limiting {
    int instead(int seconds);
  }

  /** Statements run with other texts and limits than they were meant to. */
  private static DataSource twisted(
      DataSource real, UnaryOperator<String> text, Limiting limiting, List<String> unlimited) {
    return Pretending.twisted(
        real,
        call -> {
          if (!call.name().equals("prepareStatement")) {
            return call.go();
          }
          String sql = (String) call.args()[0];
          call.args()[0] = text.apply(sql);
          PreparedStatement statement = (PreparedStatement) call.go();
          int[] limit = {0};
          return Proxies.proxy(
              PreparedStatement.class,
              (self, method, args) -> {
                if (method.getName().equals("setQueryTimeout")) {
                  limit[0] = (int) args[0];
                  args[0] = limiting.instead(limit[0]);
                }
                if (method.getName().startsWith("execute") && limit[0] != LIMIT_SECONDS) {
                  unlimited.add(limit[0] + " s for " + sql);
                }
                return Proxies.call(statement, method, args);
              });
        });
  }

  private static Map<String, Runnable> reads(Rig rig) {
    AdminQueries admin = rig.store.admin();
    Slice slice = new Slice(null, false, 10);
    Map<String, Runnable> reads = new LinkedHashMap<>();
    reads.put("counts", () -> admin.counts(10));
    reads.put("types", () -> admin.countsByType(10));
    reads.put("lag", admin::lag);
    for (DeliveryState state : DeliveryState.values()) {
      if (state != DeliveryState.PAUSED && state != DeliveryState.HELD) {
        DeliveryFilter filter = deliveries(state);
        reads.put("deliveries " + state, () -> admin.deliveries(filter, slice));
        reads.put("count of " + state, () -> admin.count(filter, 10));
      }
    }
    reads.put("failures", () -> admin.failures(deliveries(DeliveryState.POISONED), 10));
    MessageFilter all = new MessageFilter(false, null, null, null, null, null, null);
    reads.put("messages", () -> admin.messages(all, slice));
    reads.put("count of messages", () -> admin.count(all, 10));
    reads.put("message", () -> admin.message("test", "m"));
    reads.put("audit", () -> admin.audit(10));
    reads.put("cells", admin::cells);
    reads.put("find", () -> admin.find("test", "m", rig.a.family()));
    reads.put("poisoned", () -> admin.poisoned(null, 10));
    reads.put("poisoned of one", () -> admin.poisoned(rig.a.family(), 10));
    reads.put("operation", () -> admin.operation("none"));
    reads.put("conflicts", () -> admin.conflicts(10));
    reads.put("conflict", () -> admin.conflict(1));
    reads.put("paused", admin::paused);
    reads.put("paused families", admin::pausedFamilies);
    reads.put("open", () -> admin.open(rig.a.keyId()));
    reads.put("open up to a bound", () -> admin.open(rig.a, 10));
    reads.put("nodes", admin::nodes);
    reads.put("all messages", admin::messages);
    reads.put("blocked keys", () -> admin.blockedKeys(10));
    return reads;
  }

  private static DeliveryFilter deliveries(DeliveryState state) {
    return new DeliveryFilter(Set.of(state), null, null, null, null, null, null, null, null);
  }

  /** A message that is poisoned, and blocks its ordering key. */
  private static void poison(Rig rig) {
    rig.accept(Rig.message("m", 7L, "content", rig.a));
    rig.accept(Rig.message("behind", 7L, "content", rig.a));
    rig.settle(
        rig.open(rig.a, 1),
        new Outcome.Poisoned(Rig.failure("never"), true, OnPoison.HOLD_SEQUENCE));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void everyReadOfAnOperatorHasALimit(TestDatabase database) {
    InboxTables.in(database);
    List<String> unlimited = new CopyOnWriteArrayList<>();
    List<String> texts = new CopyOnWriteArrayList<>();
    DataSource watched =
        twisted(
            database.dataSource(),
            text -> {
              texts.add(text);
              return text;
            },
            seconds -> seconds,
            unlimited);
    Rig rig = Rig.on(database, watched);
    poison(rig);

    reads(rig)
        .forEach(
            (name, read) -> {
              unlimited.clear();
              texts.clear();
              read.run();
              assertThat(texts).as(name).isNotEmpty();
              assertThat(unlimited).as(name).isEmpty();
            });
  }

  /** Takes most of a minute, if nobody cuts it. */
  private static String slow(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> "SELECT 'a', now(), pg_sleep(30)::text, ''";
      // Functions that only wait end without an error here, so it has to work.
      case MARIADB ->
          "SELECT 'a', UTC_TIMESTAMP(6), count(*), '' FROM seq_1_to_30000 x, seq_1_to_30000 y"
              + " WHERE MOD(x.seq + y.seq, 7) = 3";
      case H2 ->
          "SELECT 'a', CURRENT_TIMESTAMP, sum(MOD(x, 7)), '' FROM SYSTEM_RANGE(1, 1000000000)";
    };
  }

  private static void cut(Runnable read) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(read::run)
        .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT));
  }

  @ParameterizedTest
  @EnumSource
  void aReadThatTakesLongerIsCut(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      InboxTables.in(database);
      boolean[] slowly = {false};
      DataSource slow =
          twisted(
              database.dataSource(),
              text -> slowly[0] ? slow(kind) : text,
              seconds -> slowly[0] ? seconds / LIMIT_SECONDS : seconds, // nobody waits for it here
              new CopyOnWriteArrayList<>());
      Rig rig = Rig.on(database, slow);
      slowly[0] = true;
      cut(() -> rig.store.admin().paused());
      slowly[0] = false;
      assertThat(rig.store.admin().paused()).isEmpty();
    }
  }

  @Test
  void postgresCutsAReadByItselfIfTheDriverDoesNot() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      InboxTables.in(database);
      boolean[] slowly = {false};
      DataSource slow =
          twisted(
              database.dataSource(),
              text ->
                  slowly[0] && text.contains(LIMIT_OF_SERVER)
                      ? text.substring(0, text.indexOf(";\n") + 2)
                              .replace(LIMIT_OF_SERVER, "'statement_timeout', '500'")
                          + "SELECT 0, 1, pg_sleep(30)"
                      : text,
              seconds -> 0,
              new CopyOnWriteArrayList<>());
      Rig rig = Rig.on(database, slow);
      poison(rig);
      slowly[0] = true;
      cut(() -> rig.store.admin().blockedKeys(10));
      slowly[0] = false;
      assertThat(rig.store.admin().blockedKeys(10)).hasSize(1);
    }
  }
}
