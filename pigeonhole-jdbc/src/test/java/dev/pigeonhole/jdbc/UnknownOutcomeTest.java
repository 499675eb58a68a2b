package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.StatementFault;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The connection is lost while a commit is on its way: nobody may guess what became of it. */
class UnknownOutcomeTest {
  private TestDatabase database;
  private FaultProxy proxy;
  private Rig rig;

  private void start(DatabaseKind kind) {
    database = TestDatabases.open(kind);
    proxy = FaultProxy.to(TestDatabases.server(kind));
    InboxTables.in(database);
    rig = Rig.on(database, database.through(proxy).dataSource());
  }

  @AfterEach
  void stop() {
    proxy.close();
    database.close();
  }

  private static Predicate<String> commitOf(DatabaseKind kind, String statement) {
    return kind == DatabaseKind.POSTGRES
        ? sql -> sql.contains(statement)
        : sql -> sql.equalsIgnoreCase("COMMIT");
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void dur02_anAcceptInDoubtIsDoneAgainAndAnswersStoredOnce(DatabaseKind kind) {
    start(kind);
    int n = 0;
    for (StatementFault fault : StatementFault.values()) {
      int hits = proxy.hits();
      String id = "m-" + n++;
      proxy.atStatement(commitOf(kind, "WITH base"), 1, fault);

      List<AcceptResult> results =
          rig.store
              .acceptor()
              .accept(List.of(rig.message(id, rig.a, rig.b), rig.message(id, rig.a, rig.b)));

      assertThat(proxy.hits()).as("%s", fault).isGreaterThan(hits);
      assertThat(results.get(0)).as("%s", fault).isInstanceOf(AcceptResult.Stored.class);
      assertThat(results.get(1)).as("%s", fault).isInstanceOf(AcceptResult.Known.class);
      assertThat(rig.count("message")).isEqualTo(n);
      assertThat(rig.count("delivery")).isEqualTo(2L * n);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aDeliveryCompletedBeforeTheSecondTryIsNotCreatedAgain(DatabaseKind kind) {
    start(kind);
    Rig direct = Rig.on(database, database.pool(5));
    proxy.atStatement(commitOf(kind, "WITH base"), 1, StatementFault.ANSWER_LOST);
    // While the first try hangs in doubt, another node runs what it has stored.
    proxy.latency(Duration.ofMillis(30));
    Thread other =
        new Thread(
            () -> {
              while (direct.count("receipt") == 0) {
                direct.complete(direct.open(direct.a, 10));
              }
            });
    other.start();

    AcceptResult result = rig.accept(rig.message("m", rig.a));

    assertThat(proxy.hits()).isEqualTo(1);
    assertThat(result).isInstanceOf(AcceptResult.Stored.class);
    Eventually.until(Duration.ofMinutes(3), () -> direct.count("receipt") == 1);
    assertThat(direct.count("delivery")).isZero();
    assertThat(direct.count("later")).isZero();
  }

  /** The token tells whose the row is that the second try finds. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void dur02_whatAnotherNodeStoredBeforeTheSecondTryIsNotTakenForOurs(DatabaseKind kind) {
    start(kind);
    Rig direct = Rig.on(database, database.pool(5));
    AtomicReference<Runnable> between = new AtomicReference<>(() -> {});
    AtomicInteger hits = new AtomicInteger();
    Rig interrupted =
        Rig.on(
            database,
            Intercepted.beforeConnecting(
                database.through(proxy).dataSource(),
                () -> {
                  if (proxy.hits() > hits.get()) {
                    between.getAndSet(() -> {}).run();
                  }
                }));
    for (StatementFault fault : StatementFault.values()) {
      for (String content : List.of("the same", "something else")) {
        String id = fault + " " + content;
        List<AcceptResult> theirs = new ArrayList<>();
        between.set(() -> theirs.add(direct.accept(Rig.message(id, content, direct.a))));
        hits.set(proxy.hits());
        proxy.atStatement(commitOf(kind, "WITH base"), 1, fault);

        AcceptResult ours =
            interrupted.accept(Rig.message(id, "the same", interrupted.a, interrupted.b));

        assertThat(theirs).as(id).hasSize(1);
        if (ours instanceof AcceptResult.Stored) {
          assertThat(theirs.get(0)).as(id).isNotInstanceOf(AcceptResult.Stored.class);
        } else {
          assertThat(theirs.get(0)).as(id).isInstanceOf(AcceptResult.Stored.class);
          if (content.equals("the same")) {
            assertThat(((AcceptResult.Known) ours).added()).as(id).containsExactly(interrupted.b);
          } else {
            assertThat(ours).as(id).isInstanceOf(AcceptResult.Differs.class);
          }
        }
        if (fault == StatementFault.REQUEST_LOST) {
          assertThat(ours).as(id).isNotInstanceOf(AcceptResult.Stored.class);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aSettleInDoubtSaysSo(DatabaseKind kind) {
    start(kind);
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);
    proxy.atStatement(commitOf(kind, "WITH gone"), 1, StatementFault.ANSWER_LOST);

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> rig.complete(List.of(delivery)))
        .satisfies(
            e -> {
              assertThat(e.kind()).isEqualTo(Kind.UNKNOWN);
              assertThat(e.code()).isEqualTo(ErrorCode.COMMIT_UNKNOWN);
            });
    assertThat(proxy.hits()).isEqualTo(1);
    assertThat(rig.count("receipt")).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aUnitInDoubtSaysSoAndALostOneIsRolledBack(DatabaseKind kind) {
    start(kind);
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);

    proxy.atCommit(StatementFault.REQUEST_LOST);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () -> rig.store.transactions().orElseThrow().run(List.of(delivery), (row, c) -> {}))
        .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.UNKNOWN));
    assertThat(rig.count("receipt")).isZero();
    assertThat(rig.only(rig.a)).isEqualTo(delivery);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void d96_aConnectionLostInTheMiddleIsNobodysFailure(DatabaseKind kind) {
    start(kind);
    rig.accept(rig.message("m", rig.a));
    Delivery delivery = rig.only(rig.a);

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                rig.store
                    .transactions()
                    .orElseThrow()
                    .run(
                        List.of(delivery),
                        (row, connection) -> {
                          proxy.cut();
                          try (var statement = connection.createStatement()) {
                            statement.execute("SELECT 1");
                          }
                        }))
        .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.UNKNOWN));
    assertThat(rig.only(rig.a)).isEqualTo(delivery);
  }
}
