package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.retrying;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.support.TransactionPooler;
import dev.pigeonhole.tck.Judge;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Behind a pooler in transaction mode each transaction may have another session of the server, and
 * what was set on one is not set on the next.
 */
class TransactionPoolerTest {
  private static final String REPEATABLE_READ =
      "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ";

  private final TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);

  @AfterEach
  void close() {
    database.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"repeatable read", "serializable"})
  void pg06_pg08_transactionsAreReadCommittedWhateverTheServersDefaultIs(String isolation)
      throws Exception {
    Schema.migrate(database.dataSource());
    try (TransactionPooler pooler = new TransactionPooler(database, 6)) {
      for (int i = 0; i < 6; i++) {
        pooler.onServer(i, "SET default_transaction_isolation = '" + isolation + "'");
      }
      AtomicInteger calls = new AtomicInteger();
      List<String> handled = new CopyOnWriteArrayList<>();
      Inbox inbox =
          Inbox.on(JdbcStore.of(pooler.dataSource()))
              .channel(
                  Channel.named("c")
                      .on(String.class)
                      .handle(
                          "plain",
                          text -> {
                            if (calls.incrementAndGet() == 1) {
                              throw new IllegalStateException("once");
                            }
                            handled.add(text);
                          },
                          retrying(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(3)))
                      .handleInTransaction("transactional", (text, tx) -> handled.add(text))
                      .build())
              .build();
      Guard guard = Guard.on(JdbcStore.of(pooler.dataSource())).build();

      inbox.accept("c", Message.of("m", "x"));
      inbox.accept("c", Message.of("m", "x"));
      Eventually.until(
          "both handlers to succeed",
          Duration.ofMinutes(3),
          () -> {
            inbox.drain();
            return handled.size() == 2;
          });
      guard.run(GuardKey.of("g", "type", "key"), tx -> handled.add("guarded"));
      guard.close();

      assertThat(handled).containsExactlyInAnyOrder("x", "x", "guarded");
      assertThat(pooler.isolations()).isNotEmpty().containsOnly("read committed");
    }
  }

  /** As another client leaves it that has set its session, by a framework for example. */
  @Test
  void pg06_aSessionThatAnotherClientHasSetIsNoticedByTheStatementThatLocks() throws Exception {
    Schema.migrate(database.dataSource());
    try (TransactionPooler pooler = new TransactionPooler(database, 3)) {
      Rig rig = Rig.on(database, pooler.dataSource());
      rig.accept(rig.message("m", rig.a));
      rig.complete(rig.open(rig.a, 10));
      for (int i = 0; i < 3; i++) {
        pooler.onServer(i, REPEATABLE_READ);
      }

      NewMessage duplicate = rig.message("m", rig.a, rig.b);
      assertThat(rig.accept(duplicate)).isInstanceOf(AcceptResult.Known.class);
      assertThat(pooler.isolations()).endsWith("read committed");
      rig.complete(rig.open(rig.b, 10));

      Rig other = Rig.on(database, pooler.dataSource());
      for (int i = 0; i < 3; i++) {
        pooler.onServer(i, REPEATABLE_READ);
      }
      Pruning deleting = new Judge(message -> Pruning.Fate.DELETE, null);
      assertThat(other.store.maintenance().prune(deleting, 10).deleted()).isEqualTo(1);
      assertThat(pooler.isolations()).endsWith("read committed");
    }
  }
}
