package dev.pigeonhole.outbox;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.outbox.Office.ONCE;
import static dev.pigeonhole.outbox.Office.order;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.StatementFault;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The way to the database breaks while a handler's messages are staged. */
class StagingFaultTest {

  /** An attempt that the database cuts short is not counted, and repeated after less than this. */
  private static final Duration BACKOFF = Duration.ofSeconds(5);

  /** Stages in an outbox, after the test has had a look at the connection. */
  private record Watched(Outbox outbox, Look look) implements Publisher {
    interface Look {
      void at(Connection connection) throws SQLException;
    }

    @Override
    public String publish(Connection connection, Message message) {
      return publish(connection, List.of(message)).get(0);
    }

    @Override
    public List<String> publish(Connection connection, List<Message> messages) {
      try {
        look.at(connection);
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
      return outbox.publish(connection, messages);
    }

    @Override
    public boolean commitsWith(InboxStore store) {
      return outbox.commitsWith(store);
    }

    @Override
    public void wake() {
      outbox.wake();
    }
  }

  private static Channel publishing() {
    return Channel.named("payments")
        .on(String.class)
        .handleInTransaction(
            "post", (payment, tx) -> tx.publish(order(1).id("post-" + payment)), retrying(ONCE))
        .handleMessage(
            "tell",
            received -> received.publish(order(2).id("tell-" + received.payload())),
            retrying(ONCE))
        .build();
  }

  private static boolean stages(String sql) {
    return sql.contains("INSERT INTO") && sql.contains("pigeonhole_out_message");
  }

  @ParameterizedTest
  @CsvSource({
    "POSTGRES, REQUEST_LOST",
    "POSTGRES, ANSWER_LOST",
    "MARIADB, REQUEST_LOST",
    "MARIADB, ANSWER_LOST"
  })
  void anAttemptThatLosesItsConnectionWhileStagingIsRepeatedAndNotCounted(
      DatabaseKind kind, StatementFault fault) {
    try (TestDatabase database = TestDatabases.open(kind);
        FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind))) {
      Office office = Office.in(database);
      JdbcStore store = JdbcStore.of(database.through(proxy).pool(12)).clock(office.clock);
      Outbox outbox = office.sending(store);
      Inbox inbox = Inbox.on(store).lanes(4).outbox(outbox).channel(publishing()).build();
      inbox.accept("payments", Message.of("p-1", "p-1"));
      for (int handler = 1; handler <= 2; handler++) {
        proxy.atStatement(StagingFaultTest::stages, handler, fault);
        inbox.drain();
        assertThat(proxy.hits()).isEqualTo(handler);
        assertThat(office.rows("pigeonhole_poison")).as("counted").isZero();
        office.clock.advance(BACKOFF);
        inbox.accept("payments", Message.of("p-2", "p-2"));
      }
      inbox.drain();
      outbox.drain();

      assertThat(office.transport.confirmedIds())
          .containsExactlyInAnyOrder("post-p-1", "tell-p-1", "post-p-2", "tell-p-2");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aCommitWhoseAnswerIsLostIsReadAgainAndSendsOnce(DatabaseKind kind) {
    for (StatementFault fault : StatementFault.values()) {
      try (TestDatabase database = TestDatabases.open(kind);
          FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind))) {
        Office office = Office.in(database);
        JdbcStore store = JdbcStore.of(database.through(proxy).pool(12)).clock(office.clock);
        Outbox outbox = office.sending(store);
        AtomicInteger publishing = new AtomicInteger();
        Publisher trapped =
            new Watched(
                outbox,
                connection -> {
                  if (publishing.incrementAndGet() == 1) {
                    proxy.atCommit(fault); // the one that comes next
                  }
                });
        Inbox inbox = Inbox.on(store).lanes(4).outbox(trapped).channel(publishing()).build();
        inbox.accept("payments", Message.of("p-1", "p-1"));
        inbox.drain();
        proxy.heal();
        office.clock.advance(BACKOFF);
        inbox.drain();
        outbox.drain();

        assertThat(proxy.hits()).as("%s", fault).isEqualTo(1);
        assertThat(office.transport.confirmedIds())
            .as("%s", fault)
            .containsExactlyInAnyOrder("post-p-1", "tell-p-1");
        assertThat(office.rows("pigeonhole_poison")).as("counted").isZero();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aGuardWhoseConnectionIsLostWhileStagingRunsAgain(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind))) {
      Office office = Office.in(database);
      JdbcStore store = JdbcStore.of(database.through(proxy).pool(12));
      Outbox outbox = office.sending(store);
      try (Guard guard = Guard.on(store).lanes(4).outbox(outbox).build()) {
        proxy.atStatement(StagingFaultTest::stages, 1, StatementFault.REQUEST_LOST);
        GuardKey key = GuardKey.of("charge", OrderPlaced.class, "o-1");
        assertThat(guard.run(key, tx -> tx.publish(order(1)))).isInstanceOf(Guarded.Ran.class);
      }
      assertThat(proxy.hits()).isEqualTo(1);
      assertThat(office.staged()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aLinkThatGoesSilentWhileWeStageHoldsNobodyForEver(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind))) {
      Office office = Office.in(database);
      JdbcStore store = JdbcStore.of(database.through(proxy).pool(12)).clock(office.clock);
      Outbox outbox = office.sending(store);
      List<Integer> limits = new CopyOnWriteArrayList<>();
      Publisher silent =
          new Watched(
              outbox,
              connection -> {
                limits.add(connection.getNetworkTimeout());
                if (limits.size() == 1) {
                  // Nobody wants to wait here for as long as the library would.
                  connection.setNetworkTimeout(Runnable::run, 500);
                  proxy.blackhole(Direction.TO_CLIENT, Direction.TO_SERVER);
                  try {
                    outbox.publish(connection, order(3).id("unheard"));
                  } catch (StoreException e) {
                    proxy.heal();
                    throw e;
                  }
                }
              });
      Channel payments =
          Channel.named("payments")
              .on(String.class)
              .handleMessage("tell", received -> received.publish(order(2).id("told")))
              .build();
      Inbox inbox = Inbox.on(store).lanes(4).outbox(silent).channel(payments).build();
      inbox.accept("payments", Message.of("p-1", "p-1"));
      inbox.drain();
      office.clock.advance(BACKOFF);
      inbox.drain();
      outbox.drain();

      assertThat(proxy.hits()).isPositive();
      assertThat(limits).hasSize(2).containsOnly(60_000);
      assertThat(office.transport.confirmedIds()).containsExactly("told");
    }
  }
}
