package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.examples.demo.Options.StoreKind;
import dev.pigeonhole.examples.demo.Report.Row;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The checker must see what it is there to see. */
class EffectsTest {

  @TempDir private Path directory;

  @Test
  void lostDoubledAndDisorderedEffectsAreFound() throws Exception {
    Plan plan = new Plan(Options.parse("--messages", "40"));
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

      Effects effects = Effects.read(plan, 40, directory, connection);
      List<Row> rows = effects.rows(answered);

      assertThat(effects.inversions()).isEqualTo(1);
      assertThat(rows).extracting(Row::key).isEqualTo(Handlers.KEYS);
      assertThat(rows).extracting(Row::lost).containsExactly(3L, 2L, 3L, 0L);
      assertThat(rows).extracting(Row::doubleEffects).containsExactly(0L, 1L, 0L, 0L);
      assertThat(rows).extracting(Row::repeatedEffects).containsExactly(0L, 0L, 0L, 1L);
    }
  }

  private static int[] ordersOfOneCustomer(Plan plan) {
    int customer = plan.customer(0);
    return IntStream.range(0, 40).filter(n -> plan.customer(n) == customer).toArray();
  }
}
