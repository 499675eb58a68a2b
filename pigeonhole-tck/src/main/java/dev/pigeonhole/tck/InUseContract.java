package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Changes to many that meet a message which somebody's transaction holds. A step that waited for it
 * with others in its hands could be waited for in turn, so it ends before that one.
 */
abstract class InUseContract extends DatabaseFixture {

  InUseContract(DatabaseStoreContract contract) {
    super(contract);
  }

  /** Messages that have been handled. */
  private List<Place> finished(String... ids) {
    List<Place> places = new ArrayList<>();
    Stream.of(ids)
        .forEach(
            id -> {
              Delivery delivery = delivered(id, a);
              settle(delivery, completed());
              places.add(new Place(delivery.seq(), 0));
            });
    return places;
  }

  /** MariaDB's default would also hold what stands beside a message. */
  private Connection readCommitted() throws SQLException {
    Connection connection = transaction();
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    return connection;
  }

  /** Lets a repeat in a caller's transaction hold this message. */
  private void hold(Connection connection, String id) {
    asKnown(store.acceptor().accept(connection, List.of(message(id).to(a).build())).get(0));
  }

  private Operation begin() {
    return store.admin().begin(Operation.begun("op", "what"), "ada", "because");
  }

  private AdminChange replay() {
    return new AdminChange(Action.REPLAY, b, "ada", "because");
  }

  private static AdminChange purge() {
    return new AdminChange(Action.PURGE, null, "ada", "because");
  }

  @Test
  void aStepEndsBeforeAMessageInUseAndTheNextOneBeginsWithIt() throws SQLException {
    List<Place> chosen = finished("first", "second", "third");
    Operation cut;
    try (Connection connection = readCommitted()) {
      hold(connection, "second");

      cut = store.admin().step(begin(), replay(), chosen, true);

      assertThat(cut.at()).isEqualTo(chosen.get(0));
      assertThat(cut.matched()).isEqualTo(1);
      assertThat(cut.changed()).isEqualTo(1);
      assertThat(cut.skipped()).isEmpty();
      assertThat(cut.finished()).isFalse();
      assertThat(store.admin().operation("op")).contains(cut);
      assertThat(ready(b)).hasSize(1);
      connection.rollback();
    }

    Operation done = store.admin().step(cut, replay(), chosen.subList(1, 3), true);

    assertThat(done.finished()).isTrue();
    assertThat(done.changed()).isEqualTo(3);
    assertThat(ready(b)).hasSize(3);
    assertThat(store.admin().audit(10)).hasSize(3);
  }

  @Test
  void aStepThatHoldsNothingYetWaitsForTheMessageInUse() throws Exception {
    List<Place> chosen = finished("first", "second");
    CompletableFuture<Operation> step;
    try (Connection connection = readCommitted()) {
      hold(connection, "first");
      Operation begun = begin();
      step = CompletableFuture.supplyAsync(() -> store.admin().step(begun, replay(), chosen, true));

      assertThatExceptionOfType(TimeoutException.class)
          .isThrownBy(() -> step.get(200, TimeUnit.MILLISECONDS));
      connection.rollback();
    }

    assertThat(step.get(300, TimeUnit.SECONDS).changed()).isEqualTo(2);
  }

  @Test
  void aPurgeEndsThereTooAndSkipsAMessageThatIsStillInUse() throws SQLException {
    List<Place> chosen = finished("first", "second", "third");
    try (Connection connection = readCommitted()) {
      hold(connection, "second");

      Operation cut = store.admin().step(begin(), purge(), chosen, true);
      assertThat(cut.changed()).isEqualTo(1);
      assertThat(cut.finished()).isFalse();

      Operation done = store.admin().step(cut, purge(), chosen.subList(1, 3), true);
      assertThat(done.finished()).isTrue();
      assertThat(done.changed()).isEqualTo(2);
      assertThat(done.skipped()).isEqualTo(Map.of(Effect.IN_USE, 1L));
      connection.rollback();
    }

    assertThat(store.admin().messages()).isEqualTo(1);
  }
}
