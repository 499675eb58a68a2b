package dev.pigeonhole.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Kills the relay before it publishes, after that and before it knows of the confirmation, and
 * between the confirmation and the receipt. Every message arrives, each of them has one effect at
 * the other side, and each key keeps its order.
 */
class RelayCrashTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final List<String> POINTS =
      List.of(
          RelayLife.BEFORE_PUBLISH,
          RelayLife.BEFORE_CONFIRM,
          RelayLife.BEFORE_RECEIPT,
          RelayLife.BEFORE_RECEIPT_COMMITS);
  private static final int MESSAGES = 30;

  /**
   * In several groups side by side, each with tables of its own: a life waits more than it
   * computes.
   */
  @ParameterizedTest
  @EnumSource(
      value = DatabaseKind.class,
      names = {"POSTGRES", "MARIADB"})
  void ob01_ob02_ob03_aRelayThatIsKilledAnywhereLosesNothingAndNothingHappensTwice(
      DatabaseKind kind) throws Exception {
    int groups = Size.of(1, 5);
    int rounds = Size.of(1, 5);
    ExecutorService threads = Executors.newFixedThreadPool(groups);
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (int group = 0; group < groups; group++) {
        Random random = new Random(17 + group);
        ends.add(threads.submit(() -> losesNothing(kind, rounds, random)));
      }
      for (Future<?> end : ends) {
        end.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void losesNothing(DatabaseKind kind, int rounds, Random random) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      losesNothing(database, rounds, random);
    }
  }

  private static void losesNothing(TestDatabase database, int rounds, Random random) {
    Office office = Office.in(database).withEffects();
    List<OrderPlaced> handled = new ArrayList<>();
    Inbox receiver =
        RelayLife.receiver(
            office.store,
            (order, connection) -> {
              Office.effect(connection, order.order());
              handled.add(order);
            });
    Outbox outbox = RelayLife.relay(office.store, receiver);
    int staged = 0;
    int repeats = 0;
    for (int round = 0; round < rounds; round++) {
      for (String point : POINTS) {
        publish(office, outbox, staged);
        staged += MESSAGES;
        kill(database, point, 1 + random.nextInt(3));
        finish(outbox);
        receiver.drain();
        repeats += point.equals(RelayLife.BEFORE_PUBLISH) ? 0 : 1;
      }
    }

    assertThat(handled).hasSize(staged).doesNotHaveDuplicates();
    assertThat(office.effects()).isEqualTo(staged);
    assertThat(office.rows("pigeonhole_message")).isEqualTo(staged);
    assertThat(office.repeated()).as("messages that came again").isGreaterThanOrEqualTo(repeats);
    for (int key = 0; key < 4; key++) {
      String customer = "c-" + key;
      assertThat(
              handled.stream()
                  .filter(each -> each.customer().equals(customer))
                  .map(each -> Integer.parseInt(each.order())))
          .isSorted();
    }
  }

  private static void publish(Office office, Outbox outbox, int from) {
    office.commit(
        connection -> {
          List<Message> messages = new ArrayList<>();
          for (int i = from; i < from + MESSAGES; i++) {
            messages.add(Message.of(new OrderPlaced(String.valueOf(i), "c-" + i % 4)));
          }
          return outbox.publish(connection, messages);
        });
  }

  private static void kill(TestDatabase database, String point, int nth) {
    try (JavaProcess relay =
        JavaProcess.of(RelayLife.class)
            .args(database.jdbcUrl(), database.user(), database.password(), point, nth)
            .start()) {
      relay.awaitLine("standing at " + point, LIMIT);
      relay.kill9();
    }
  }

  private static void finish(Outbox outbox) {
    try (RunningInbox running = outbox.start()) {
      Eventually.until(
          "everything to be sent",
          LIMIT,
          () ->
              running.healthy()
                  && outbox.admin().deliveries().in(DeliveryState.PENDING).count().value() == 0);
    }
    assertThat(outbox.admin().poisoned(10)).isEmpty();
  }
}
