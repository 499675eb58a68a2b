package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.tck.Judge;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whoever has to do with several ordering keys locks all rows of one table before the first of the
 * next. Two who did otherwise could wait for each other.
 */
class LockOrderTest {
  private static final List<String> TABLES = List.of("poison", "closed_key", "handler");

  private StatementCounter counter;
  private Rig rig;

  private void open(TestDatabase database) {
    InboxTables.in(database);
    counter = StatementCounter.on(database, database.pool(6));
    rig = Rig.on(database, counter.dataSource());
  }

  /** The tables in the order in which rows of them were asked for. */
  private List<String> locked() {
    return counter.statements().stream()
        .filter(sql -> sql.contains("FOR UPDATE"))
        .flatMap(sql -> TABLES.stream().filter(table -> sql.contains("pigeonhole_" + table)))
        .toList();
  }

  private Delivery delivered(String id, long key, HandlerId handler) {
    AcceptResult result = rig.accept(Rig.message(id, key, "x", handler));
    long seq = ((AcceptResult.Stored) result).seq();
    return rig.open(handler, 100).stream()
        .filter(each -> each.seq() == seq)
        .findFirst()
        .orElseThrow();
  }

  private Delivery poisoned(String id, long key, HandlerId handler, OnPoison onPoison) {
    Delivery delivery = delivered(id, key, handler);
    Outcome outcome = new Outcome.Poisoned(Rig.failure("x"), true, onPoison);
    assertThat(rig.settle(List.of(delivery), outcome)).isEmpty();
    return delivery;
  }

  private static Place place(Delivery delivery) {
    return new Place(delivery.seq(), delivery.cell().handler());
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aStepOfABulkRetryLocksTableAfterTable(TestDatabase database) {
    open(database);
    Delivery one = poisoned("a", 1, rig.a, OnPoison.BLOCK_KEY);
    Delivery two = poisoned("b", 2, rig.a, OnPoison.BLOCK_KEY);
    poisoned("c", 1, rig.a, OnPoison.BLOCK_KEY); // a second head of a key, so its handler is locked
    Operation begun = rig.store.admin().begin(Operation.begun("op", "what"), "ada", "because");
    counter.reset();

    Operation done =
        rig.store
            .admin()
            .step(
                begun,
                new AdminChange(AdminChange.Action.RETRY, null, "ada", "because"),
                List.of(place(one), place(two)),
                true);

    assertThat(done.changed()).isEqualTo(2);
    assertThat(locked()).containsExactly("poison", "poison", "closed_key", "closed_key", "handler");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void retentionThatDeletesPoisonLocksTableAfterTable(TestDatabase database) {
    open(database);
    poisoned("a", 1, rig.a, OnPoison.BLOCK_KEY);
    poisoned("b", 2, rig.a, OnPoison.BLOCK_KEY);
    counter.reset();

    assertThat(
            rig.store
                .maintenance()
                .prune(new Judge(message -> Pruning.Fate.DELETE, null), 10)
                .deleted())
        .isEqualTo(2);

    assertThat(locked()).containsExactly("poison", "closed_key", "closed_key");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theReleaseOfAKeyOfFamiliesThatCountAsOneLocksTableAfterTable(TestDatabase database) {
    open(database);
    poisoned("a", 1, rig.a, OnPoison.BLOCK_KEY);
    poisoned("b", 1, rig.b, OnPoison.HOLD_SEQUENCE);
    rig.store.maintenance().register(List.of(List.of("a", "b")));
    counter.reset();

    assertThat(rig.store.admin().releaseKey(rig.a.family(), rig.a.keyId(), "k", 1, "ada", "x"))
        .isTrue();

    assertThat(locked()).containsExactly("poison", "poison", "closed_key", "closed_key");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aSettleOfRowsThatWaitInSeveralKeysLocksTableAfterTable(TestDatabase database) {
    open(database);
    poisoned("a", 1, rig.a, OnPoison.HOLD_SEQUENCE);
    poisoned("b", 2, rig.a, OnPoison.BLOCK_KEY);
    List<Delivery> waiting = List.of(delivered("c", 1, rig.a), delivered("d", 2, rig.a));
    counter.reset();

    assertThat(rig.settle(waiting, new Outcome.Blocked())).isEmpty();

    assertThat(locked()).containsExactly("poison", "poison", "closed_key");
    assertThat(rig.open(rig.a, 10)).as("let go too early").isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aSettleOfManyRowsThatWaitInOneKeyAsksForItOnce(TestDatabase database) {
    open(database);
    Delivery before = delivered("before", 1, rig.a);
    poisoned("a", 1, rig.a, OnPoison.HOLD_SEQUENCE);
    List<Delivery> rows = new ArrayList<>(List.of(before));
    for (int i = 0; i < 5; i++) {
      rows.add(delivered("m-" + i, 1, rig.a));
    }
    counter.reset();

    assertThat(rig.settle(rows, new Outcome.Blocked())).isEmpty();

    assertThat(locked()).containsExactly("poison", "closed_key");
    assertThat(rig.open(rig.a, 10))
        .as("nothing is in the way of the first alone")
        .extracting(Delivery::seq)
        .containsExactly(before.seq());
  }
}
