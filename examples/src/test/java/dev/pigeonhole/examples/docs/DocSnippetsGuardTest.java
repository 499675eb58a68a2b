package dev.pigeonhole.examples.docs;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.examples.docs.Shop.PaymentReceived;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Guarded runs, as the documentation shows them. */
class DocSnippetsGuardTest {
  private final PaymentReceived payment = new PaymentReceived("r-1", "a-1", 100);
  private TestDatabase database;
  private DataSource dataSource;
  private Guard guard;

  @BeforeEach
  void open() {
    database = TestDatabases.open(DatabaseKind.H2);
    database.execute("CREATE TABLE charge (reference VARCHAR(50) NOT NULL)");
    database.execute("CREATE TABLE processed_message (id VARCHAR(50) PRIMARY KEY)");
    dataSource = database.pool(4);
    Schema.migrate(dataSource);
    guard = options();
  }

  private Guard options() {
    // snippet:guard-options
    Guard guard =
        Guard.on(JdbcStore.of(dataSource))
            .waitAtMost(ofSeconds(10))
            .keepReceipts(ofDays(30)) // longer than any sender repeats itself
            .keepAnswers(ofDays(1))
            .build();
    // end
    return guard;
  }

  @AfterEach
  void close() {
    guard.close();
    database.close();
  }

  private static String charge(Connection connection, PaymentReceived payment) throws SQLException {
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO charge VALUES (?)")) {
      insert.setString(1, payment.reference());
      insert.executeUpdate();
    }
    return "receipt of " + payment.reference();
  }

  private long charges() {
    return database.count("SELECT COUNT(*) FROM charge");
  }

  private String pay(PaymentReceived payment) throws SQLException {
    // snippet:guard-answer
    GuardKey key =
        GuardKey.of("charge-card", PaymentReceived.class, payment.reference()).request(payment);
    Guarded<String> result =
        guard.answer(key, String.class, tx -> charge(tx.connection(), payment));

    if (result instanceof Guarded.Ran<String> ran) {
      return "charged: " + ran.value();
    }
    if (result instanceof Guarded.Repeat<String> repeat) {
      return repeat.state() == DeliveryState.COMPLETED
          ? "charged before: " + repeat.answer().orElse("no answer was kept")
          : "not charged, ask an operator: " + repeat.state();
    }
    if (result instanceof Guarded.Busy) {
      return "in progress: ask again";
    }
    return "refused: this reference was used for another payment"; // Guarded.Conflict
    // end
  }

  @Test
  void answer() throws SQLException {
    assertThat(pay(payment)).isEqualTo("charged: receipt of r-1");
    assertThat(pay(payment)).isEqualTo("charged before: receipt of r-1");
    assertThat(pay(new PaymentReceived("r-1", "a-1", 900))).startsWith("refused");
    assertThat(charges()).isEqualTo(1);
  }

  @Test
  void joined() throws SQLException {
    GuardKey key = GuardKey.of("charge-card", PaymentReceived.class, payment.reference());
    // snippet:guard-joined
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      Guarded<String> result = guard.run(connection, key, tx -> charge(tx.connection(), payment));
      if (result instanceof Guarded.Busy) {
        connection.rollback(); // a copy is still at work: let this one come again
      } else {
        connection.commit(); // the charge, its receipt, and whatever else you have written
      }
    }
    // end
    assertThat(charges()).isEqualTo(1);
    assertThat(guard.run(key, tx -> "never")).isInstanceOf(Guarded.Repeat.class);
  }

  @Test
  void withAnOperator() throws SQLException {
    Inbox inbox =
        Inbox.on(JdbcStore.of(dataSource))
            .channel(
                Channel.named("payments")
                    .on(PaymentReceived.class)
                    .keyedBy(PaymentReceived::reference)
                    .handle(
                        "charge-card",
                        payment -> {
                          throw new PoisonException("no such card");
                        })
                    .build())
            .build();
    inbox.accept("payments", Message.of("m-1", payment));
    inbox.drain();
    assertThat(pay(payment)).isEqualTo("not charged, ask an operator: POISONED");
    assertThat(charges()).isZero();
  }

  @Test
  void counts() throws SQLException {
    EventCounts counts = EventCounts.create();
    GuardKey key = GuardKey.of("charge-card", PaymentReceived.class, payment.reference());
    try (Guard counted = Guard.on(JdbcStore.of(dataSource)).listener(counts).build()) {
      counted.run(key, tx -> charge(tx.connection(), payment));
      counted.run(key, tx -> charge(tx.connection(), payment));
    }
    // snippet:guard-counts
    long ran = counts.of(InboxEvent.GuardRan.class, "charge-card");
    long repeats = counts.of(InboxEvent.GuardRepeated.class, "charge-card");
    long failed = counts.of(InboxEvent.GuardFailed.class, "charge-card");
    // end
    assertThat(List.of(ran, repeats, failed)).containsExactly(1L, 1L, 0L);
  }

  // snippet:carry-keys-over
  void carryOver(List<String> oldKeys) throws SQLException {
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (String old : oldKeys) {
        GuardKey key = GuardKey.of("charge-card", PaymentReceived.class, old);
        guard.run(connection, key, tx -> null); // does nothing, and is known from now on
      }
      connection.commit();
    }
  }

  // end

  @Test
  void carryKeysOver() throws SQLException {
    carryOver(List.of("r-0", "r-1"));
    carryOver(List.of("r-0", "r-1")); // as often as you like
    assertThat(pay(payment)).isEqualTo("charged before: no answer was kept");
    assertThat(charges()).isZero();
  }

  // snippet:both-tables
  void onPayment(PaymentReceived payment) throws SQLException {
    GuardKey key = GuardKey.of("charge-card", PaymentReceived.class, payment.reference());
    Guarded<String> result =
        guard.run(
            key,
            tx ->
                isNewInTheOldTable(tx.connection(), payment.reference())
                    ? charge(tx.connection(), payment)
                    : "the former version has done it");
    if (result instanceof Guarded.Busy) {
      throw new IllegalStateException("A copy is still at work: let this one come again.");
    }
  }

  // end

  /** It must not fail on a known key: an error of the database undoes the run. */
  private static boolean isNewInTheOldTable(Connection connection, String id) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement(
            "INSERT INTO processed_message SELECT v.id FROM (VALUES (CAST(? AS VARCHAR))) v (id)"
                + " WHERE NOT EXISTS (SELECT 1 FROM processed_message p WHERE p.id = v.id)")) {
      insert.setString(1, id);
      return insert.executeUpdate() == 1;
    }
  }

  @Test
  void bothTables() throws SQLException {
    database.execute("INSERT INTO processed_message VALUES ('r-0')");
    onPayment(new PaymentReceived("r-0", "a-1", 100));
    onPayment(payment);
    onPayment(payment);
    assertThat(charges()).isEqualTo(1);
    assertThat(database.count("SELECT COUNT(*) FROM processed_message")).isEqualTo(2);
  }
}
