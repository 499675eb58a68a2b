package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.support.TestDatabase;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

/** Writes that would not commit with the receipt are seen, or warned of. */
class StrayWritesTest {
  static class Committing {
    private final JdbcTemplate jdbc;

    Committing(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      jdbc.execute("COMMIT");
    }
  }

  /** The connection that JdbcTemplate uses is not the one that the inbox guards. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void jd03_aCommitBehindTheBackOfSpringIsSeen(TestDatabase database) {
    try (World world = new World(database)) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class, World.Frozen.class)
          .with(Committing.class)
          .start();
      world.handle(1);

      assertThat(world.delivery(1).state()).isEqualTo(DeliveryState.SCHEDULED);
      assertThat(world.delivery(1).lastFailure().orElseThrow().toString()).contains("PH-TX-05");
    }
  }

  static class Alone {
    private final Notes notes;

    Alone(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      notes.writeAlone(order.order());
    }
  }

  @Test
  void jd03_aTransactionInsideThatCommitsAloneIsWarnedOfOnce() {
    ListAppender<ILoggingEvent> log = World.logOf(SpringTransactions.class);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, Alone.class)
          .start();
      world.handle(1);
      world.handle(2);

      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .filteredOn(line -> line.contains("REQUIRES_NEW"))
          .hasSize(1)
          .allMatch(line -> line.startsWith("Handler reserve-stock "));
    }
  }

  static class Elsewhere {
    private final JdbcTemplate jdbc;

    Elsewhere(@Qualifier("second") DataSource second) {
      this.jdbc = new JdbcTemplate(second);
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  @Test
  void jd03_writesToAnotherDataSourceAreWarnedOf() {
    ListAppender<ILoggingEvent> log = World.logOf(SpringTransactions.class);
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(SecondDatabase.class, Elsewhere.class)
          .start();
      world.handle(1);

      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .anyMatch(line -> line.contains("another DataSource"));
    }
  }
}
