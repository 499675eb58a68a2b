package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.examples.OrderPlaced;
import dev.pigeonhole.examples.demo.Options.Mode;
import dev.pigeonhole.examples.demo.Options.StoreKind;
import dev.pigeonhole.examples.demo.Report.Row;
import dev.pigeonhole.jdbc.JdbcStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.BitSet;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The checker must see what it is there to see. */
class EffectsTest {

  @TempDir private Path directory;

  @Test
  void lostDoubledAndDisorderedEffectsAreFound() throws Exception {
    Options options = Options.parse("--messages", "40");
    Plan plan = new Plan(options);
    int[] orders = ordersOfOneCustomer(plan);
    Database database = Database.start(StoreKind.H2, directory);
    database.createTables();
    try (Connection connection = database.connect();
        Statement statement = connection.createStatement()) {
      // The first order twice in the ledger, the second and third never.
      for (int i = 0; i < 2; i++) {
        statement.execute(
            "INSERT INTO ledger_entry VALUES ('order-%d', 'c', 1)".formatted(orders[0]));
      }
      // The warehouse heard of the second order before the first, and of the first again.
      Files.write(
          Handlers.effects(directory),
          List.of(
              Handlers.WAREHOUSE + " " + orders[1],
              Handlers.WAREHOUSE + " " + orders[0],
              Handlers.WAREHOUSE + " " + orders[0],
              Handlers.WAREHOUSE + " " + orders[2]));
      BitSet answered = new BitSet();
      IntStream.of(orders).limit(3).forEach(answered::set);

      Effects effects = Effects.read(plan, options, directory, connection);
      List<Row> rows = effects.rows(answered, new DeadLetters());

      assertThat(effects.inversions()).isEqualTo(1);
      assertThat(rows).extracting(Row::key).isEqualTo(Handlers.KEYS);
      assertThat(rows).extracting(Row::lost).containsExactly(3L, 2L, 3L, 0L);
      assertThat(rows).extracting(Row::doubleEffects).containsExactly(0L, 1L, 0L, 0L);
      assertThat(rows).extracting(Row::repeatedEffects).containsExactly(0L, 0L, 0L, 1L);
    }
  }

  @Test
  void whatInlineHandlersHaveNotFinishedIsGivenUpOrComesAgainOrIsLost() throws Exception {
    Options options = Options.parse("--messages", "40", "--mode", "inline", "--fail", "50");
    Plan plan = new Plan(options);
    int good = first(n -> plan.failures(n) == 0 && !plan.isPoisonous(n));
    int flaky = first(n -> plan.failures(n) > 0 && !plan.isPoisonous(n));
    int poisonous = first(plan::isPoisonous);
    Database database = Database.start(StoreKind.H2, directory);
    database.createTables();
    handIn(plan, database, good, flaky, poisonous);
    BitSet answered = new BitSet();
    answered.set(good);
    answered.set(poisonous);
    DeadLetters deadLetters = new DeadLetters();
    deadLetters.add(poisonous, List.of(Handlers.RECEIPT));

    try (Connection connection = database.connect()) {
      Effects effects = Effects.read(plan, options, directory, connection);

      assertThat(effects.accepted()).isEqualTo(3);
      List<Row> rows = effects.rows(answered, deadLetters);
      assertThat(rows).extracting(Row::completed).containsExactly(3L, 3L, 1L, 3L);
      assertThat(rows).extracting(Row::poisoned).containsExactly(0L, 0L, 1L, 0L);
      assertThat(rows).extracting(Row::pending).containsExactly(0L, 0L, 1L, 0L);
      assertThat(rows).extracting(Row::lost).containsOnly(0L);

      answered.set(flaky); // as if a worker had called it finished
      rows = effects.rows(answered, deadLetters);
      assertThat(rows).extracting(Row::pending).containsOnly(0L);
      assertThat(rows).extracting(Row::lost).containsExactly(0L, 0L, 1L, 0L);
      assertThat(new Report(options, 3, 3, 0, 0, rows, 0, 0, 0, Transit.NONE, 1, null).problems())
          .containsExactly(
              "1 lost", "3 messages for 4 handlers make 12 deliveries, but there are 11");
    }
  }

  private void handIn(Plan plan, Database database, int... orders) throws IOException {
    try (HikariDataSource pool = Database.pool(database.toArguments(), 8)) {
      Inbox inbox =
          Inbox.on(JdbcStore.of(pool))
              .channel(new Handlers(plan, directory).channel(Mode.INLINE))
              .build();
      for (int order : orders) {
        OrderPlaced placed = plan.order(order);
        inbox.accept(Handlers.CHANNEL, Message.of(placed.order(), placed));
      }
    }
  }

  private static int first(IntPredicate which) {
    return IntStream.range(0, 40).filter(which).findFirst().orElseThrow();
  }

  private static int[] ordersOfOneCustomer(Plan plan) {
    int customer = plan.customer(0);
    return IntStream.range(0, 40).filter(n -> plan.customer(n) == customer).toArray();
  }
}
