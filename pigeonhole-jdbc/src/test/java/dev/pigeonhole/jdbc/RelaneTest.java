package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.StoreSettings;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Another number of lanes for an inbox that is empty and stopped. */
class RelaneTest {

  private static Inbox inbox(TestDatabase database, int lanes, AtomicInteger handled) {
    return Inbox.on(JdbcStore.of(database.pool(8)).beatsOn(database.dataSource()))
        .named("shop")
        .lanes(lanes)
        .channel(
            Channel.named("c")
                .on(String.class)
                .handle("a", text -> handled.incrementAndGet())
                .build())
        .build();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theNewNumberHoldsForEverythingFromNowOn(TestDatabase database) {
    Rig rig = Rig.on(database);
    long node = rig.store.nodes().join("n", Set.of(rig.a.family()));
    long token =
        rig.store.nodes().take(node, Rig.cells(rig.a)).stream()
            .mapToLong(CellRow::token)
            .max()
            .orElseThrow();
    rig.store.nodes().stopped(node);
    List<HandlerId> handlers = List.copyOf(rig.store.maintenance().handlers());

    Schema.relane(database.dataSource(), 7);

    assertThat(rig.store.maintenance().handlers()).containsExactlyElementsOf(handlers);
    assertThat(rig.store.nodes().cells(Set.of(rig.a.family())))
        .hasSize(7)
        .allSatisfy(row -> assertThat(row.token()).as("goes on").isEqualTo(token));
    assertThat(rig.store.nodes().cells(Set.of(rig.b.family())))
        .hasSize(7)
        .extracting(CellRow::owner)
        .containsOnly(0L);
    AtomicInteger handled = new AtomicInteger();
    Inbox inbox = inbox(database, 7, handled);
    for (int i = 0; i < 50; i++) {
      inbox.accept("c", Message.of("m" + i, "x"));
    }
    inbox.drain();
    assertThat(handled).hasValue(50);
    assertThat(database.count("SELECT count(DISTINCT lane) FROM " + rig.table("message")))
        .isEqualTo(7);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void anInboxWithMessagesKeepsItsLanes(TestDatabase database) {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));

    refused(() -> Schema.relane(database.dataSource(), 8), "pigeonhole_message");

    rig.complete(rig.open(rig.a, 10));
    refused(() -> Schema.relane(database.dataSource(), 8), "pigeonhole_message");
    assertThat(rig.store.nodes().cells(Set.of(rig.a.family()))).hasSize(Rig.LANES);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void anInboxOnWhichANodeLivesKeepsItsLanes(TestDatabase database) {
    Rig.on(database);
    AtomicInteger handled = new AtomicInteger();
    try (RunningInbox running = inbox(database, Rig.LANES, handled).start()) {
      refused(() -> Schema.relane(database.dataSource(), 8), "has not stopped");
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    Schema.relane(database.dataSource(), 8);
    refused(() -> inbox(database, Rig.LANES, handled).start(), "lanes(8)");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whoWasOpenedWithTheOldNumberDoesNotStart(TestDatabase database) {
    Rig rig = Rig.on(database);

    Schema.ofDefaults().relaneOn(database.dataSource(), 8);

    refused(() -> rig.store.nodes().join("n", Set.of(rig.a.family())), "lanes(8)");
    assertThat(rig.count("node")).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whereNothingIsThereIsNothingToChange(TestDatabase database) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> Schema.relane(database.dataSource(), 8))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.SCHEMA_VERSION));
    Schema.migrate(database.dataSource());
    Schema.relane(database.dataSource(), 8); // nobody has opened it: the first start decides

    Rig.on(database);
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> Schema.relane(database.dataSource(), 0))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.RANGE_INVALID));
  }

  /** Either the node is there and the number stays, or it changes and the node is not. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aNodeThatJoinsMeanwhileSeesTheOldOrTheNewWhole(TestDatabase database) {
    int lanes = Rig.LANES;
    Rig.on(database);
    DataSource pool = database.pool(12);
    for (int round = 0; round < 30; round++) {
      int next = lanes == 4 ? 6 : 4;
      JdbcStore store = JdbcStore.of(pool).beatsOn(database.dataSource());
      store.maintenance().open(new StoreSettings("shop", lanes, 4, 1 << 20));
      int family = store.maintenance().handlers().iterator().next().family();
      CyclicBarrier start = new CyclicBarrier(2);
      CompletableFuture<Long> joining =
          CompletableFuture.supplyAsync(
              () -> {
                await(start);
                try {
                  return store.nodes().join("n", Set.of(family));
                } catch (ConfigurationException e) {
                  assertThat(e.code()).isEqualTo(ErrorCode.LANES_DIFFER);
                  return 0L;
                }
              });
      await(start);
      boolean changed = true;
      try {
        Schema.relane(database.dataSource(), next);
      } catch (ConfigurationException e) {
        assertThat(e.code()).isEqualTo(ErrorCode.LANES_DIFFER);
        changed = false;
      }
      long node = joining.join();
      assertThat(changed).as("round %s", round).isEqualTo(node == 0);
      lanes = changed ? next : lanes;
      assertThat(store.nodes().cells(Set.of(family))).hasSize(lanes);
      store.nodes().stopped(node); // gives its connection back, whoever it was
    }
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void refused(Runnable change, String because) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(change::run)
        .withMessageContaining(because)
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.LANES_DIFFER));
  }
}
