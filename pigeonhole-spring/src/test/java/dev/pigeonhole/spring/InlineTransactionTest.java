package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.transaction.annotation.Transactional;

/** Handlers that run where a message is handed in, in transactions of Spring. */
class InlineTransactionTest {
  static class InlineWriting {
    private final Notes notes;

    InlineWriting(Notes notes) {
      this.notes = notes;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock", inline = true)
    @Transactional
    void reserve(OrderPlaced order) {
      notes.write(order.order());
    }
  }

  /** There is no transaction of Spring on that thread, so the receipt would commit without it. */
  @Test
  void jd11_anInlineHandlerInAConnectionOfTheCallersIsRefused() throws Exception {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
          .with(Notes.class, InlineWriting.class)
          .start();
      try (Connection connection = world.pool.getConnection()) {
        connection.setAutoCommit(false);
        assertThat(world.inbox().accept(connection, "orders", List.of(order(1))).toString())
            .contains("PH-TX-10");
        connection.commit();
      }
      assertThat(world.notes()).isZero();
      assertThat(world.completed()).isZero();

      world
          .transaction()
          .executeWithoutResult(
              status -> world.bean(InboxTemplate.class).accept("orders", order(1)));
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.completed()).isEqualTo(1);
    }
  }
}
