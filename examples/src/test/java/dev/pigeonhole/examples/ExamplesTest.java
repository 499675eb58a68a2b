package dev.pigeonhole.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.support.H2Database;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The README shows parts of the examples, so each must do what it says. */
@Timeout(600)
class ExamplesTest {

  private static final Duration PATIENCE = Duration.ofMinutes(3);

  @TempDir private Path directory;

  @Test
  void theFirstProgramHandlesAMessageOnceInTwoLives() {
    try (JavaProcess first = startFirstSteps()) {
      first.awaitLine("Accepted", PATIENCE);
      first.awaitLine("Repeat", PATIENCE);
      first.awaitLine("reserved o-1", PATIENCE);
      first.awaitLine("receipt to ada", PATIENCE);
      first.terminate();
      first.waitFor(PATIENCE);
    }
    try (JavaProcess second = startFirstSteps()) {
      second.awaitLine("Repeat", PATIENCE);
      assertThat(second.output()).noneMatch(line -> line.contains("Accepted"));
    }
  }

  private JavaProcess startFirstSteps() {
    return JavaProcess.of(FirstSteps.class).args(directory.resolve("db")).start();
  }

  @Test
  void transactionalLedgerHasOneEntry() throws Exception {
    try (TestDatabase database = H2Database.file();
        HikariDataSource pool = database.pool(16)) {
      assertThat(TransactionalLedger.run(pool)).isEqualTo(1);
    }
  }

  @Test
  void orderedByCustomerKeepsTheOrderOfEachCustomer() throws Exception {
    try (TestDatabase database = H2Database.file();
        HikariDataSource pool = database.pool(16)) {
      List<OrderPlaced> handled = OrderedByCustomer.run(pool);
      for (String customer : List.of("ada", "bob", "cleo")) {
        Predicate<OrderPlaced> theirs = order -> order.customer().equals(customer);
        assertThat(handled.stream().filter(theirs).map(OrderPlaced::order))
            .hasSize(10)
            .isSortedAccordingTo(
                Comparator.comparing(order -> Integer.valueOf(order.substring("o-".length()))));
      }
    }
  }

  @Test
  void renamedHandlerTakesOverWhatWaitedAndKnowsWhatWasHandled() {
    try (TestDatabase database = H2Database.file();
        HikariDataSource pool = database.pool(16)) {
      assertThat(RenamedHandler.run(pool))
          .containsExactly(
              "old code handled o-1", "new code handled o-2", "the old name can be removed");
    }
  }

  @Test
  void twoInboxesBothTakeTheOrder() throws Exception {
    try (TestDatabase sales = H2Database.file();
        TestDatabase shipping = H2Database.file();
        HikariDataSource salesPool = sales.pool(16);
        HikariDataSource shippingPool = shipping.pool(16)) {
      assertThat(TwoInboxes.run(salesPool, shippingPool))
          .containsExactlyInAnyOrder(
              "accepted by sales", "accepted by shipping", "receipt for o-1", "parcel for o-1");
    }
  }

  @Test
  void guardedListenerPostsAnOrderOnceHoweverOftenItComes() throws Exception {
    try (TestDatabase database = H2Database.file();
        HikariDataSource pool = database.pool(4)) {
      assertThat(GuardedListener.run(pool)).isEqualTo(1);
    }
  }

  @Test
  void jdbcConsumerMovesOnOverARepeatWithoutRunningIt() throws Exception {
    try (TestDatabase database = H2Database.file();
        HikariDataSource pool = database.pool(4)) {
      assertThat(JdbcConsumer.run(pool)).containsExactly("1: Ran", "2: Repeat", "3: Ran");
      assertThat(Ledger.entries(pool, "o-1")).isEqualTo(1);
      assertThat(database.count("SELECT reached FROM consumer")).isEqualTo(3);
    }
  }

  @Test
  void paymentWebhookBooksOnceAndGivesEachCallTheSameAnswer() throws Exception {
    try (TestDatabase database = H2Database.file();
        HikariDataSource pool = database.pool(16)) {
      List<String> told = PaymentWebhook.run(pool);
      assertThat(told).startsWith("201 booked p-1", "201 again booked p-1").hasSize(5);
      assertThat(told.get(2)).startsWith("422 {").contains("PH-HTP-03");
      assertThat(told.get(3)).startsWith("400 {").contains("PH-GRD-01");
      assertThat(told.get(4)).isEqualTo("400 send a payment and its cents");
      assertThat(database.count("SELECT COUNT(*) FROM booking")).isOne();
    }
  }
}
