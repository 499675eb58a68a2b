package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.annotation.Transactional;

/** A network that swallows everything in the midst of a transaction of Spring. */
class SilentNetworkTest {

  /** The network is silent until the driver gives up: without its limit, for ever. */
  static class Silenced {
    private final JdbcTemplate jdbc;
    private final FaultProxy proxy;
    private final AtomicInteger runs = new AtomicInteger();

    Silenced(JdbcTemplate jdbc, FaultProxy proxy) {
      this.jdbc = jdbc;
      this.proxy = proxy;
    }

    int runs() {
      return runs.get();
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(OrderPlaced order) {
      boolean first = runs.incrementAndGet() == 1;
      if (first) {
        proxy.blackhole(Direction.TO_SERVER, Direction.TO_CLIENT);
      }
      try {
        jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      } finally {
        if (first) {
          proxy.heal();
        }
      }
    }
  }

  @Test
  void jd05_aHandlerIsHeldNoLongerThanTheDriverWaitsAndItsMessageIsHandledOnce() {
    try (FaultProxy proxy = FaultProxy.to(TestDatabases.server(DatabaseKind.POSTGRES));
        TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        World world =
            new World(database, database.through(proxy).with("socketTimeout", "5").pool(20))) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Running.class)
          .with(Silenced.class);
      world.context.registerBean(FaultProxy.class, () -> proxy);
      world.start();
      world.inbox().accept("orders", order(1));
      // Whoever looks may be cut off as well, and looks again.
      Eventually.passes(
          Charges.LIMIT,
          () ->
              assertThat(world.inbox().find("orders", "m-1", "reserve-stock"))
                  .hasValueSatisfying(
                      each -> assertThat(each.state()).isEqualTo(DeliveryState.COMPLETED)));

      assertThat(world.bean(Silenced.class).runs()).isGreaterThan(1);
      assertThat(world.notes()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void jd05_aDriverThatWaitsForTheNetworkForEverIsWarnedOf(TestDatabase database) {
    Predicate<ILoggingEvent> warning = each -> each.getFormattedMessage().contains("socketTimeout");
    ListAppender<ILoggingEvent> log = World.logOf(SpringTransactions.class);
    try (World world = new World(database)) {
      world.with(World.Basics.class, World.Jdbc.class, World.WithInbox.class).start();
      assertThat(log.list).filteredOn(warning).hasSize(database.kind() == DatabaseKind.H2 ? 0 : 1);
      log.list.clear();
      if (database.kind() != DatabaseKind.H2) {
        try (TestDatabase limited = database.with("socketTimeout", "60000")) {
          DataSource pool = limited.pool(3);
          JdbcTransactionManager manager = new JdbcTransactionManager(pool);
          GuardTemplate.on(JdbcStore.of(pool), manager, it -> it.named("shop").lanes(4)).close();
        }
      }
      assertThat(log.list).filteredOn(warning).isEmpty();
    }
  }
}
