package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The tables of an inbox are changed while it runs, and the database refuses its rows. No message
 * is to blame: none is rejected, and its content is nowhere to be read.
 */
class ChangedTableTest {
  private static final String CANARY = "canary-4713";
  private static final String CANARY_IN_HEX = "63616e6172792d34373133";

  /** What somebody might do to the table of messages. */
  private enum Change {
    NOT_NULL_COLUMN,
    CHECK,
    SHORT_COLUMN,
    TRIGGER;

    List<String> make(DatabaseKind kind) {
      return switch (this) {
        case NOT_NULL_COLUMN -> List.of("ALTER TABLE %s ADD COLUMN extra int NOT NULL");
        case CHECK ->
            List.of("ALTER TABLE %s ADD CONSTRAINT small CHECK (octet_length(content) < 3)");
        case SHORT_COLUMN ->
            List.of(
                switch (kind) {
                  case POSTGRES -> "ALTER TABLE %s ALTER COLUMN transport TYPE varchar(1)";
                  case MARIADB -> "ALTER TABLE %s MODIFY COLUMN content varbinary(3)";
                  case H2 -> "ALTER TABLE %s ALTER COLUMN content varbinary(3)";
                });
        case TRIGGER ->
            kind == DatabaseKind.POSTGRES
                ? List.of(
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                        + " 'BEGIN RAISE EXCEPTION USING MESSAGE = ''no more messages''; END'",
                    "CREATE TRIGGER refusing BEFORE INSERT ON %s"
                        + " FOR EACH ROW EXECUTE FUNCTION refuse()")
                : List.of(
                    "CREATE TRIGGER refusing BEFORE INSERT ON %s FOR EACH ROW"
                        + " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no more messages'");
      };
    }

    String undo(DatabaseKind kind) {
      return switch (this) {
        case NOT_NULL_COLUMN -> "ALTER TABLE %s DROP COLUMN extra";
        case CHECK -> "ALTER TABLE %s DROP CONSTRAINT small";
        case SHORT_COLUMN ->
            switch (kind) {
              case POSTGRES -> "ALTER TABLE %s ALTER COLUMN transport TYPE text";
              case MARIADB -> "ALTER TABLE %s MODIFY COLUMN content longblob";
              case H2 -> "ALTER TABLE %s ALTER COLUMN content blob";
            };
        case TRIGGER ->
            kind == DatabaseKind.POSTGRES ? "DROP TRIGGER refusing ON %s" : "DROP TRIGGER refusing";
      };
    }
  }

  static Stream<Arguments> changes() {
    return Stream.of(Change.values())
        .flatMap(
            change ->
                Stream.of(DatabaseKind.values())
                    .filter(kind -> change != Change.TRIGGER || kind != DatabaseKind.H2)
                    .map(kind -> Arguments.of(kind, change)));
  }

  private static String table(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> "pigeonhole_message";
      case MARIADB -> "`pigeonhole_message`";
      case H2 -> "\"pigeonhole_message\"";
    };
  }

  private static String told(Throwable thrown) {
    StringWriter text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text));
    return text.toString();
  }

  private static void refusesPermanently(Runnable accept) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(accept::run)
        .satisfies(
            e -> {
              assertThat(e.kind()).isEqualTo(StoreException.Kind.PERMANENT);
              assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_ERROR);
              assertThat(told(e)).doesNotContain(CANARY, CANARY_IN_HEX, "Failing row");
            });
  }

  @ParameterizedTest
  @MethodSource("changes")
  void aChangedTableRejectsNoMessage(DatabaseKind kind, Change change) throws Exception {
    List<InboxEvent> told = new CopyOnWriteArrayList<>();
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(12)))
              .listener(told::add)
              .channel(
                  Channel.named("c").on(String.class).named("t").handle("h", text -> {}).build())
              .build();
      change.make(kind).forEach(sql -> database.execute(sql.formatted(table(kind))));

      refusesPermanently(() -> inbox.accept("c", Message.of("m-1", CANARY)));
      refusesPermanently(
          () -> inbox.accept("c", List.of(Message.of("m-1", CANARY), Message.of("m-2", CANARY))));
      try (Connection connection = database.dataSource().getConnection()) {
        connection.setAutoCommit(false);
        refusesPermanently(() -> inbox.accept(connection, "c", Message.of("m-1", CANARY)));
        connection.rollback();
      }
      assertThat(told)
          .filteredOn(InboxEvent.Rejected.class::isInstance)
          .as("nobody is told to give up")
          .isEmpty();
      assertThat(told)
          .filteredOn(InboxEvent.AcceptFailed.class::isInstance)
          .hasSizeGreaterThanOrEqualTo(2)
          .allSatisfy(
              event ->
                  assertThat(told(((InboxEvent.AcceptFailed) event).cause()))
                      .doesNotContain(CANARY, CANARY_IN_HEX, "Failing row"));

      database.execute(change.undo(kind).formatted(table(kind)));
      assertThat(inbox.accept("c", Message.of("m-1", CANARY)))
          .isInstanceOf(Acceptance.Accepted.class);
    }
  }

  /** The driver refuses to send more at once than the server takes. */
  @Test
  void aBatchThatIsTooLargeForOnePacketIsSentInParts() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Rig rig = Rig.on(database);
      long packet = database.count("SELECT @@max_allowed_packet");
      String third = "x".repeat((int) (packet / 3));
      List<NewMessage> batch = new ArrayList<>();
      IntStream.range(0, 5).forEach(i -> batch.add(Messages.plain("m-" + i, 0, third, rig.a)));

      List<AcceptResult> results = rig.store.acceptor().accept(batch);

      assertThat(results).hasSize(5).allMatch(AcceptResult.Stored.class::isInstance);
      assertThat(rig.count("message")).isEqualTo(5);
    }
  }
}
