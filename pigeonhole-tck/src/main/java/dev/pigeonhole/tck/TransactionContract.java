package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.Transactions.WorkFailedException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Deliveries whose effects and receipts commit together, or not at all. */
abstract class TransactionContract extends DatabaseFixture {
  private Transactions transactions;

  TransactionContract(DatabaseStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void needTransactions() {
    transactions = store.transactions().orElseThrow();
  }

  /** What a handler does with its connection. */
  private interface Use {
    void of(Connection connection) throws Exception;
  }

  @Test
  void b38_effectsAndReceiptBecomeVisibleTogether() throws Exception {
    Delivery delivery = delivered("m", a);

    Set<Delivery> done =
        transactions.run(
            List.of(delivery),
            (row, connection) -> {
              assertThat(row).isEqualTo(delivery);
              effect(connection, "m");
              assertThat(effects(connection)).containsExactly("m");
              assertThat(effects()).as("seen by others").isEmpty();
              assertThat(view("m", a).state()).isEqualTo(DeliveryState.PENDING);
            });

    assertThat(done).containsExactly(delivery);
    assertThat(effects()).containsExactly("m");
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(ready(a)).isEmpty();
  }

  @Test
  void b37_aFailingHandlerLeavesNeitherEffectNorReceipt() throws Exception {
    Delivery delivery = delivered("m", a);
    IllegalStateException cause = new IllegalStateException("no stock");

    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                transactions.run(
                    List.of(delivery),
                    (row, connection) -> {
                      effect(connection, "m");
                      throw cause;
                    }))
        .satisfies(
            e -> {
              assertThat(e.delivery()).isEqualTo(delivery);
              assertThat(e.getCause()).isSameAs(cause);
            });

    assertThat(effects()).isEmpty();
    assertThat(fresh(a)).containsExactly(delivery);
    settle(delivery, failed());
  }

  @Test
  void aRowThatATransactionHoldsIsLeftOutOfASettleAndDelaysNoOther() throws Exception {
    Delivery held = delivered("held", a);
    Delivery late = failed(delivered("late", a), a, 1);
    List<Settlement> all = new ArrayList<>();
    all.add(new Settlement(held, completed()));
    for (Outcome outcome : List.of(completed(), failed(), poisoned())) {
      all.add(new Settlement(delivered("free " + outcome, a), outcome));
    }
    all.add(new Settlement(late, completed()));
    List<SettleResult> meanwhile = new ArrayList<>();

    transactions.run(
        List.of(held),
        (row, connection) ->
            meanwhile.add(
                CompletableFuture.supplyAsync(() -> store.deliveries().settle(all)).join()));

    assertThat(meanwhile.get(0).locked()).containsExactly(held);
    assertThat(meanwhile.get(0).refused()).isEmpty();
    assertThat(ready(a)).extracting(Delivery::failures).containsExactly(1); // the one that failed
    assertThat(store.deliveries().settle(all.subList(0, 1)).refused()).containsExactly(held);
  }

  @Test
  void aCheckedExceptionOfTheHandlerIsTheCause() {
    Delivery delivery = delivered("m", a);
    Exception cause = new Exception("checked");

    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                transactions.run(
                    List.of(delivery),
                    (row, connection) -> {
                      throw cause;
                    }))
        .satisfies(e -> assertThat(e.getCause()).isSameAs(cause));
  }

  @Test
  void aUnitThatHasHadEnoughCommitsWhatItRanAndLeavesTheRest() throws Exception {
    List<Delivery> all = List.of(delivered("m", a), delivered("n", a), delivered("o", a));
    AtomicInteger runs = new AtomicInteger();

    Set<Delivery> done =
        transactions.run(
            all,
            new Transactions.Work() {
              @Override
              public void run(Delivery delivery, Connection connection) throws Exception {
                effect(connection, "effect " + runs.incrementAndGet());
              }

              @Override
              public boolean enough() {
                return runs.get() == 2;
              }
            });

    assertThat(done).containsExactlyInAnyOrder(all.get(0), all.get(1));
    assertThat(effects()).containsExactlyInAnyOrder("effect 1", "effect 2");
    assertThat(ready(a)).containsExactly(all.get(2));
    assertThat(transactions.run(List.of(all.get(2)), (row, c) -> effect(c, "effect 3")))
        .containsExactly(all.get(2));
  }

  @Test
  void aFailedUnitCanBeTriedAgain() throws Exception {
    Delivery delivery = delivered("m", a);
    refusing(
        delivery,
        connection -> {
          effect(connection, "m");
          throw new IllegalStateException("first");
        });

    assertThat(transactions.run(List.of(delivery), (row, c) -> effect(c, "m")))
        .containsExactly(delivery);
    assertThat(effects()).containsExactly("m");
  }

  @Test
  void aReceiptKeepsTheCounters() throws Exception {
    Delivery delivery = failed(delivered("m", a), a, 2);
    transactions.run(List.of(delivery), (row, connection) -> effect(connection, "m"));

    assertThat(view("m", a).failures()).isEqualTo(2);
    assertThat(view("m", a).ended()).contains(clock.now());
  }

  @Test
  void clm01_anAttemptThatSomebodySettledIsNotOursToRun() throws Exception {
    Delivery failed = delivered("failed", a);
    settle(failed, failed());
    Delivery completed = delivered("completed", a);
    settle(completed, completed());
    Delivery poisoned = delivered("poisoned", a);
    settle(poisoned, poisoned());

    for (Delivery zombie : List.of(failed, completed, poisoned)) {
      assertThat(transactions.run(List.of(zombie), TransactionContract::neverRuns)).isEmpty();
    }
  }

  @Test
  void aDeliveryThatIsRunningElsewhereIsNotOursToRun() throws Exception {
    Delivery delivery = delivered("m", a);

    Set<Delivery> done =
        transactions.run(
            List.of(delivery),
            (row, connection) -> {
              effect(connection, "first");
              Set<Delivery> other =
                  elsewhere(
                      () -> transactions.run(List.of(delivery), TransactionContract::neverRuns));
              assertThat(other).isEmpty();
            });

    assertThat(done).containsExactly(delivery);
    assertThat(effects()).containsExactly("first");
  }

  @Test
  void b39_ofManyNodesThatRunADeliveryOneDoes() throws Exception {
    for (int round = 0; round < Size.of(5, 100); round++) {
      String id = "m-" + round;
      Delivery delivery = delivered(id, a);
      AtomicInteger completions = new AtomicInteger();

      Race.of(
          8,
          runner -> {
            try {
              completions.addAndGet(
                  transactions.run(List.of(delivery), (row, c) -> effect(c, id)).size());
            } catch (WorkFailedException e) {
              throw new AssertionError(e);
            }
            return runner;
          });

      assertThat(completions).hasValue(1);
      assertThat(effects()).filteredOn(id::equals).hasSize(1);
    }
  }

  @Test
  void aSettleThatComesWhileTheHandlerRunsIsRefused() throws Exception {
    Delivery delivery = delivered("m", a);
    List<CompletableFuture<Set<Delivery>>> late = new ArrayList<>();

    transactions.run(
        List.of(delivery),
        (row, connection) -> {
          effect(connection, "m");
          late.add(CompletableFuture.supplyAsync(() -> trySettle(delivery, failed())));
        });

    assertThat(late.get(0).join()).containsExactly(delivery);
    assertThat(view("m", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(effects()).containsExactly("m");
  }

  @Test
  void severalDeliveriesMayShareACommit() throws Exception {
    List<Delivery> rows = delivered(a, 5);
    List<Long> order = new ArrayList<>();

    Set<Delivery> done =
        transactions.run(
            rows,
            (row, connection) -> {
              order.add(row.seq());
              effect(connection, "e-" + row.seq());
            });

    assertThat(done).containsExactlyInAnyOrderElementsOf(rows);
    assertThat(order).containsExactlyElementsOf(rows.stream().map(Delivery::seq).toList());
    assertThat(effects()).hasSize(5);
    assertThat(ready(a)).isEmpty();
  }

  @Test
  void lateDeliveriesShareACommitWithFreshOnes() throws Exception {
    Delivery late = failed(delivered("late", a), a, 1);
    Delivery fresh = delivered("fresh", a);

    Set<Delivery> done =
        transactions.run(
            List.of(late, fresh), (row, connection) -> effect(connection, "e-" + row.seq()));

    assertThat(done).containsExactlyInAnyOrder(late, fresh);
    assertThat(view("late", a).failures()).isEqualTo(1);
    assertThat(view("late", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("fresh", a).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @Test
  void ifOneOfASharedUnitFailsAllAreRolledBack() throws Exception {
    List<Delivery> rows = delivered(a, 4);

    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                transactions.run(
                    rows,
                    (row, connection) -> {
                      effect(connection, "e-" + row.seq());
                      if (row.equals(rows.get(2))) {
                        throw new IllegalStateException("third");
                      }
                    }))
        .satisfies(e -> assertThat(e.delivery()).isEqualTo(rows.get(2)));

    assertThat(effects()).isEmpty();
    assertThat(fresh(a)).containsExactlyElementsOf(rows);
  }

  @Test
  void aSharedUnitRunsWhatIsOursAndLeavesTheRest() throws Exception {
    List<Delivery> rows = delivered(a, 4);
    settle(rows.get(1), completed());
    settle(rows.get(3), failed());

    Set<Delivery> done =
        transactions.run(rows, (row, connection) -> effect(connection, "e-" + row.seq()));

    assertThat(done).containsExactlyInAnyOrder(rows.get(0), rows.get(2));
    assertThat(effects()).hasSize(2);
    assertThat(ready(a)).extracting(Delivery::seq).containsExactly(rows.get(3).seq());
  }

  @Test
  void jd04_d120_whatWouldEndTheTransactionIsRefused() throws Exception {
    Map<String, Use> uses = new LinkedHashMap<>();
    uses.put("PH-TX-01 commit", Connection::commit);
    uses.put("PH-TX-01 rollback", Connection::rollback);
    uses.put("PH-TX-02 autocommit", connection -> connection.setAutoCommit(true));
    uses.put("PH-TX-03 close", Connection::close);
    uses.put("PH-TX-03 abort", connection -> connection.abort(Runnable::run));
    uses.put(
        "PH-TX-01 commit behind a statement",
        connection -> {
          try (Statement statement = connection.createStatement()) {
            statement.getConnection().commit();
          }
        });
    uses.put(
        "PH-TX-01 commit behind the metadata",
        connection -> connection.getMetaData().getConnection().commit());
    for (Map.Entry<String, Use> use : uses.entrySet()) {
      refusesAndRollsBack(use.getKey(), use.getValue());
    }
  }

  @Test
  void jd04_d121_transactionStatementsAndDdlInSqlTextAreRefused() throws Exception {
    for (String sql :
        List.of(
            "COMMIT",
            "commit",
            "ROLLBACK",
            "  rollback ;",
            "/* a comment */ COMMIT",
            "-- a comment\nROLLBACK",
            "START TRANSACTION",
            "BEGIN",
            "SET AUTOCOMMIT = 1",
            "CREATE TABLE contract_other (id INT)",
            "DROP TABLE contract_effect",
            "ALTER TABLE contract_effect ADD other INT",
            "TRUNCATE TABLE contract_effect")) {
      refusesAndRollsBack(
          "PH-TX-04 executed: " + sql,
          connection -> {
            try (Statement statement = connection.createStatement()) {
              statement.execute(sql);
            }
          });
      refusesAndRollsBack(
          "PH-TX-04 prepared: " + sql,
          connection -> {
            try (var statement = connection.prepareStatement(sql)) {
              statement.execute();
            }
          });
      refusesAndRollsBack(
          "PH-TX-04 in a batch: " + sql,
          connection -> {
            try (Statement statement = connection.createStatement()) {
              statement.addBatch(sql);
              statement.executeBatch();
            }
          });
    }
  }

  @Test
  void ordinarySqlThatOnlyMentionsSuchWordsIsNotRefused() throws Exception {
    Delivery delivery = delivered("m", a);

    transactions.run(
        List.of(delivery),
        (row, connection) -> {
          assertThat(connection.getAutoCommit()).isFalse();
          assertThat(connection.isClosed()).isFalse();
          try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(
                "INSERT INTO contract_effect (id) VALUES ('COMMIT; DROP TABLE x')");
            statement.executeUpdate(
                "/* rollback */ UPDATE contract_effect SET id = 'begin' WHERE id <> 'commit'");
          }
        });

    assertThat(effects()).containsExactly("begin");
  }

  @Test
  void phTx08_dur03_d123_aSwallowedSqlErrorRollsTheUnitBack() throws Exception {
    Delivery delivery = delivered("m", a);

    Throwable thrown =
        refusing(
            delivery,
            connection -> {
              effect(connection, "before");
              try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO contract_missing (id) VALUES ('x')");
              } catch (SQLException swallowed) {
                // as careless handlers do
              }
            });

    assertThat(messages(thrown)).contains("PH-TX-08");
    assertThat(effects()).isEmpty();
    assertThat(fresh(a)).containsExactly(delivery);
  }

  @Test
  void m16_aSwallowedErrorOfOneSharedDeliveryRollsBackItsNeighbours() throws Exception {
    List<Delivery> rows = delivered(a, 3);

    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                transactions.run(
                    rows,
                    (row, connection) -> {
                      effect(connection, "e-" + row.seq());
                      if (row.equals(rows.get(1))) {
                        try {
                          effect(connection, "x".repeat(200));
                        } catch (SQLException swallowed) {
                          // as careless handlers do
                        }
                      }
                    }));

    assertThat(effects()).isEmpty();
    assertThat(fresh(a)).containsExactlyElementsOf(rows);
  }

  @Test
  void aHandlerMayAcceptAFurtherMessageInItsTransaction() throws Exception {
    Delivery delivery = delivered("m", a);

    transactions.run(
        List.of(delivery),
        (row, connection) -> {
          effect(connection, "m");
          store.acceptor().accept(connection, List.of(message("next").to(b).build()));
        });

    assertThat(ready(b)).hasSize(1);
    assertThat(effects()).containsExactly("m");
  }

  @Test
  void aMessageThatAFailingHandlerAcceptedIsGoneWithIt() {
    Delivery delivery = delivered("m", a);

    refusing(
        delivery,
        connection -> {
          store.acceptor().accept(connection, List.of(message("next").to(b).build()));
          throw new IllegalStateException("after accepting");
        });

    assertThat(ready(b)).isEmpty();
    assertThat(store.admin().messages()).isEqualTo(1);
  }

  @Test
  void anEmptyUnitDoesNothing() throws Exception {
    assertThat(transactions.run(List.of(), TransactionContract::neverRuns)).isEmpty();
  }

  /** Whether it lets the exception out or swallows it, the unit is refused with the code. */
  private void refusesAndRollsBack(String codeAndCase, Use use) throws Exception {
    String code = codeAndCase.substring(0, "PH-TX-01".length());
    for (boolean swallow : List.of(false, true)) {
      String id = codeAndCase.hashCode() + "-" + swallow;
      Delivery delivery = delivered(id, a);

      Throwable thrown =
          refusing(
              delivery,
              connection -> {
                effect(connection, id);
                try {
                  use.of(connection);
                } catch (Exception e) {
                  if (!swallow) {
                    throw e;
                  }
                }
              });

      assertThat(messages(thrown)).as(codeAndCase).contains(code);
      assertThat(effects()).as(codeAndCase).isEmpty();
      assertThat(fresh(a)).as(codeAndCase).containsExactly(delivery);
      settle(delivery, completed());
    }
  }

  /** Runs what must fail, and answers how. */
  private Throwable refusing(Delivery delivery, Use use) {
    try {
      Set<Delivery> done =
          transactions.run(List.of(delivery), (row, connection) -> use.of(connection));
      throw new AssertionError("Not refused, but completed: " + done);
    } catch (WorkFailedException e) {
      assertThat(e.delivery()).isEqualTo(delivery);
      return e;
    } catch (StoreException e) {
      throw new AssertionError("The handler was to blame, not the store.", e);
    }
  }

  private List<Delivery> delivered(HandlerId handler, int count) {
    return IntStream.range(0, count).mapToObj(i -> delivered("m-" + i, handler)).toList();
  }

  private static void neverRuns(Delivery delivery, Connection connection) {
    throw new AssertionError("Not ours to run: " + delivery);
  }

  private static String messages(@Nullable Throwable thrown) {
    StringBuilder messages = new StringBuilder();
    for (Throwable t = thrown; t != null; t = t.getCause()) {
      messages.append(t.getMessage()).append('\n');
    }
    return messages.toString();
  }

  private interface Unit {
    Set<Delivery> run() throws WorkFailedException;
  }

  /** Runs a unit in another thread and waits for it. */
  private static Set<Delivery> elsewhere(Unit unit) {
    return CompletableFuture.supplyAsync(
            () -> {
              try {
                return unit.run();
              } catch (WorkFailedException e) {
                throw new CompletionException(e);
              }
            })
        .join();
  }
}
