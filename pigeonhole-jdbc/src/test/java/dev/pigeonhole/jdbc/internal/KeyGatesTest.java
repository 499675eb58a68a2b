package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.jdbc.InboxTables;
import dev.pigeonhole.jdbc.Messages;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.LockWaits;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A key that is let go in parts of three, cut after each of them: at no moment may a row wait that
 * nothing is in the way of, for nobody would ever look at it again.
 */
class KeyGatesTest {
  private static final int PART = 3;
  private static final long HASH = 4711;
  private static final String KEY = Messages.key(HASH);

  private Parts parts;
  private Jdbc jdbc;
  private KeyGates gates;
  private HandlerId handler;
  private Cell cell;
  private KeyGates.Key key;

  private void open(TestDatabase database) throws Exception {
    InboxTables.in(database);
    DataSource pool = database.pool(6);
    parts = Parts.connect(pool, database.dataSource(), null, "pigeonhole_", null, false, null);
    try (Connection connection = pool.getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      String schema = dialect.currentSchema(connection);
      jdbc = new Jdbc(pool, dialect, new Tables(dialect.quote(), schema, "pigeonhole_"), null);
    }
    gates = new KeyGates(jdbc.dialect.statements(), PART);
    parts.maintenance().open(new StoreSettings("shop", 1, 4, 1 << 20));
    handler = parts.maintenance().register(List.of(List.of("a"))).get(0).get(0);
    cell = new Cell(0, handler.family());
    key = new KeyGates.Key(handler.family(), HASH);
  }

  private Delivery accept(String id) {
    parts.acceptor().accept(List.of(Messages.ordered(id, 0, HASH, "", handler)));
    List<Delivery> fresh = parts.deliveries().fresh(List.of(Range.after(cell, 0, 100)));
    return fresh.get(fresh.size() - 1);
  }

  /** As the engine does: a row that another transaction holds is settled later. */
  private void settle(Delivery row, Outcome outcome) {
    SettleResult result;
    do {
      result = parts.deliveries().settle(List.of(new Settlement(row, outcome)));
    } while (!result.locked().isEmpty());
    assertThat(result.refused()).isEmpty();
  }

  private static Outcome poisoned(OnPoison onPoison) {
    Failure failure =
        new Failure(ErrorCode.HANDLER_FAILED, "shop.Broken", "x", "stack", "print", Instant.now());
    return new Outcome.Poisoned(failure, true, onPoison);
  }

  /** A poisoned head, and so many that wait behind it. */
  private List<Delivery> waiting(OnPoison onPoison, int count) {
    settle(accept("head"), poisoned(onPoison));
    List<Delivery> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Delivery row = accept("m-" + i);
      settle(row, new Outcome.Blocked());
      rows.add(row);
    }
    assertThat(due()).isEmpty();
    return rows;
  }

  private List<Long> due() {
    return parts.deliveries().due(List.of(DueRange.fromStart(cell, 100))).rows().stream()
        .map(Delivery::seq)
        .sorted()
        .toList();
  }

  private static List<Long> seqs(List<Delivery> rows) {
    return rows.stream().map(Delivery::seq).toList();
  }

  private boolean blocked(Delivery row) {
    Ahead question = new Ahead(cell, HASH, row.seq());
    return parts.deliveries().ahead(List.of(question)).blocked().contains(question);
  }

  private boolean release() {
    return jdbc.transaction(session -> gates.release(session, List.of(key), handler.keyId()));
  }

  private boolean step() {
    return jdbc.transaction(gates::step);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aReleaseThatWasCutGoesOnWhereItEnded(TestDatabase database) throws Exception {
    open(database);
    List<Delivery> rows = new ArrayList<>(waiting(OnPoison.HOLD_SEQUENCE, 8));

    assertThat(release()).isTrue();

    assertThat(due()).isEqualTo(seqs(rows.subList(0, 3)));
    assertThat(blocked(rows.get(2))).isFalse();
    assertThat(blocked(rows.get(3))).isTrue();
    Delivery arrival = accept("arrival");
    assertThat(blocked(arrival)).isTrue();
    settle(arrival, new Outcome.Blocked());
    rows.add(arrival);
    assertThat(parts.admin().blockedKeys(10))
        .singleElement()
        .satisfies(
            it -> {
              assertThat(it.orderingKey()).isEqualTo(KEY);
              assertThat(it.head()).isEmpty();
              assertThat(it.waiting()).isEqualTo(6);
            });

    assertThat(step()).isTrue();
    assertThat(due()).isEqualTo(seqs(rows.subList(0, 6)));
    assertThat(step()).isTrue();
    assertThat(step()).as("a full part may not have been the last").isTrue();
    assertThat(step()).isFalse();

    assertThat(due()).isEqualTo(seqs(rows));
    assertThat(parts.admin().blockedKeys(10)).isEmpty();
    assertThat(blocked(accept("later"))).isFalse();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aNodeFinishesWhatAnOperatorBegan(TestDatabase database) throws Exception {
    open(database);
    List<Delivery> rows = waiting(OnPoison.BLOCK_KEY, 7);
    assertThat(release()).isTrue();
    assertThat(due()).hasSize(3);

    parts.maintenance().finishReleases();

    assertThat(due()).isEqualTo(seqs(rows));
    assertThat(parts.admin().blockedKeys(10)).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void anOperatorWhoReleasesAgainFinishesIt(TestDatabase database) throws Exception {
    open(database);
    List<Delivery> rows = waiting(OnPoison.BLOCK_KEY, 7);
    assertThat(release()).isTrue();

    assertThat(parts.admin().releaseKey(handler.family(), handler.keyId(), KEY, HASH, "ada", "x"))
        .isTrue();

    assertThat(due()).isEqualTo(seqs(rows));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aHeadThatIsPoisonedMeanwhileEndsARelease(TestDatabase database) throws Exception {
    open(database);
    List<Delivery> rows = waiting(OnPoison.HOLD_SEQUENCE, 8);
    assertThat(release()).isTrue();
    Delivery second =
        parts.deliveries().due(List.of(DueRange.fromStart(cell, 100))).rows().stream()
            .filter(row -> row.seq() == rows.get(1).seq())
            .findFirst()
            .orElseThrow();
    settle(second, poisoned(OnPoison.HOLD_SEQUENCE));

    assertThat(step()).isFalse();

    assertThat(due()).isEqualTo(List.of(rows.get(0).seq(), rows.get(2).seq()));
    assertThat(blocked(rows.get(0))).isFalse();
    assertThat(blocked(rows.get(2))).isTrue();
    assertThat(parts.admin().blockedKeys(10)).extracting(BlockedKey::held).containsExactly(true);
    assertThat(release()).isTrue();
    parts.maintenance().finishReleases();
    assertThat(due()).hasSize(7);
  }

  /**
   * Whoever poisons a head finds the key closed, as one that is being released, and waits for the
   * node that takes the last step, which opens it.
   */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aHeadThatIsPoisonedDuringTheLastStepOfAReleaseClosesTheKeyAgain(TestDatabase database)
      throws Exception {
    open(database);
    List<Delivery> rows = waiting(OnPoison.HOLD_SEQUENCE, 3);
    assertThat(release()).isTrue();
    Delivery first = parts.deliveries().due(List.of(DueRange.fromStart(cell, 100))).rows().get(0);
    assertThat(first.seq()).isEqualTo(rows.get(0).seq());

    CompletableFuture<?> poisoning =
        jdbc.once(
            Session.LockWait.NORMAL,
            session -> {
              assertThat(gates.holdClosed(session, key)).isPresent();
              CompletableFuture<?> other =
                  CompletableFuture.runAsync(() -> settle(first, poisoned(OnPoison.HOLD_SEQUENCE)));
              LockWaits.awaitOne(database);
              assertThat(gates.step(session)).isTrue();
              return other;
            });
    poisoning.join();

    assertThat(step()).as("nobody releases it any more").isFalse();
    assertThat(parts.admin().blockedKeys(10)).extracting(BlockedKey::held).containsExactly(true);
    assertThat(blocked(rows.get(1))).isTrue();
    assertThat(release()).isTrue();
    assertThat(blocked(rows.get(1))).isFalse();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whoDealsWithAHeadBehindAReleaseLeavesTheRestToIt(TestDatabase database) throws Exception {
    open(database);
    List<Delivery> rows = waiting(OnPoison.BLOCK_KEY, 8);
    assertThat(release()).isTrue();
    assertThat(parts.admin().end("test", "head", handler.family(), true, "ada", "x")).isTrue();
    parts.maintenance().finishReleases();

    assertThat(due()).isEqualTo(seqs(rows));
    assertThat(parts.admin().blockedKeys(10)).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aReleaseDoesNotWaitForAnAttemptThatRunsInTheKey(TestDatabase database) throws Exception {
    open(database);
    others(database, 1_000);
    List<Delivery> rows = waiting(OnPoison.HOLD_SEQUENCE, 4);
    assertThat(parts.admin().retry("test", "head", handler.family(), "ada", "x")).isTrue();
    List<Delivery> head = parts.deliveries().due(List.of(DueRange.fromStart(cell, 100))).rows();
    assertThat(head).hasSize(1);
    CountDownLatch goOn = new CountDownLatch(1);
    CountDownLatch inside = new CountDownLatch(1);
    CompletableFuture<?> unit =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return parts
                    .transactions()
                    .run(
                        head,
                        (row, connection) -> {
                          inside.countDown();
                          goOn.await();
                        });
              } catch (Transactions.WorkFailedException e) {
                throw new AssertionError(e);
              }
            });
    try {
      assertThat(inside.await(300, TimeUnit.SECONDS)).isTrue();
      assertThat(parts.admin().releaseKey(handler.family(), handler.keyId(), KEY, HASH, "ada", "x"))
          .isTrue();
      assertThat(due()).containsAll(seqs(rows));
      assertThat(unit.isDone()).isFalse();
    } finally {
      goOn.countDown();
    }
    assertThat(unit.get(300, TimeUnit.SECONDS)).isEqualTo(Set.copyOf(head));
  }

  /** So many late rows of other keys that nobody reads all of them to find those of one. */
  private void others(TestDatabase database, int count) {
    parts
        .acceptor()
        .accept(
            IntStream.range(0, count)
                .mapToObj(i -> Messages.ordered("other-" + i, 0, 1_000_000L + i, "", handler))
                .toList());
    Outcome later = new Outcome.LaterUncounted(Duration.ofDays(1));
    assertThat(
            parts
                .deliveries()
                .settle(
                    parts.deliveries().fresh(List.of(Range.after(cell, 0, count))).stream()
                        .map(row -> new Settlement(row, later))
                        .toList())
                .complete())
        .isTrue();
    if (database.kind() == DatabaseKind.MARIADB) {
      database.execute("ANALYZE TABLE pigeonhole_later");
    }
  }

  /** Nodes go on with one release while rows come in behind it; each of them finds its way out. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void rowsThatComeWhileAReleaseIsFinishedDoNotWaitForEver(TestDatabase database) throws Exception {
    open(database);
    List<Delivery> rows = new ArrayList<>(waiting(OnPoison.HOLD_SEQUENCE, 10));
    List<Delivery> arrivals = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      arrivals.add(accept("arrival-" + i));
    }
    rows.addAll(arrivals);
    assertThat(release()).isTrue();

    CompletableFuture<?> node =
        CompletableFuture.runAsync(
            () -> arrivals.forEach(row -> settle(row, new Outcome.Blocked())));
    List<CompletableFuture<?>> finishing = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      finishing.add(
          CompletableFuture.runAsync(
              () -> {
                while (step()) {
                  Thread.onSpinWait();
                }
              }));
    }
    node.join();
    finishing.forEach(CompletableFuture::join);
    while (step()) {
      Thread.onSpinWait();
    }

    assertThat(due()).isEqualTo(seqs(rows));
    assertThat(parts.admin().blockedKeys(10)).isEmpty();
  }
}
