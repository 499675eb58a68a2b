package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Messages;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Statements are resolved once and kept, so there may only be so many of them. */
class TemplatesTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aMessageForANewHandlerLeavesNoTextBehind(TestDatabase database) throws SQLException {
    Schema.migrate(database.dataSource());
    Jdbc jdbc = connect(database);
    Statements statements = jdbc.dialect.statements();
    JdbcAcceptor acceptor =
        new JdbcAcceptor(jdbc, new Gate(statements, new Families()), statements);
    acceptBeforeAndAfterANewHandler(acceptor, "first");
    int kept = jdbc.tables.kept();

    for (int i = 0; i < 10; i++) {
      acceptBeforeAndAfterANewHandler(acceptor, "m-" + i);
    }
    assertThat(jdbc.tables.kept()).isEqualTo(kept);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theFailuresOfOtherHandlersLeaveNoTextBehind(TestDatabase database) throws SQLException {
    Schema.migrate(database.dataSource());
    Jdbc jdbc = connect(database);
    Statements statements = jdbc.dialect.statements();
    JdbcDeliveries deliveries =
        new JdbcDeliveries(jdbc, statements, new Settling(statements, new KeyGates(statements)));
    deliveries.lastFailures(List.of(ofHandler(1)));
    int kept = jdbc.tables.kept();

    for (int handler = 2; handler < 10; handler++) {
      deliveries.lastFailures(List.of(ofHandler(handler), ofHandler(1)));
    }
    assertThat(jdbc.tables.kept()).isEqualTo(kept);
  }

  private static Delivery ofHandler(int handler) {
    return Delivery.fresh(new Cell(0, handler), 1, 0, handler, null);
  }

  private static Jdbc connect(TestDatabase database) throws SQLException {
    try (Connection connection = database.dataSource().getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      return new Jdbc(
          database.pool(4), dialect, new Tables(dialect.quote(), null, "pigeonhole_"), null);
    }
  }

  private static void acceptBeforeAndAfterANewHandler(JdbcAcceptor acceptor, String id) {
    HandlerId old = new HandlerId("old", 1, 1);
    HandlerId added = new HandlerId("added", 2, 2);
    acceptor.accept(List.of(Messages.plain(id, 0, "", old)));
    assertThat(acceptor.accept(List.of(Messages.plain(id, 0, "", old, added))))
        .singleElement()
        .isInstanceOfSatisfying(
            AcceptResult.Known.class, known -> assertThat(known.added()).containsExactly(added));
  }
}
