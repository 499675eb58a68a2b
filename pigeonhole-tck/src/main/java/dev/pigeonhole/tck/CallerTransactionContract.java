package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Accepting inside a transaction of the caller. */
abstract class CallerTransactionContract extends DatabaseFixture {

  CallerTransactionContract(DatabaseStoreContract contract) {
    super(contract);
  }

  @Test
  void jd08_whatTheCallerCommitsIsAccepted() throws SQLException {
    try (Connection connection = transaction()) {
      effect(connection, "mine");
      List<AcceptResult> results = accept(connection, message("m").to(a, b).build());

      long seq = storedSeq(results.get(0));
      assertThat(ready(a)).isEmpty();
      assertThat(effects()).isEmpty();
      connection.commit();

      assertThat(ready(a)).extracting(Delivery::seq).containsExactly(seq);
      assertThat(ready(b)).hasSize(1);
      assertThat(effects()).containsExactly("mine");
    }
  }

  @Test
  void jd08_whatTheCallerRollsBackWasNeverAccepted() throws SQLException {
    try (Connection connection = transaction()) {
      effect(connection, "mine");
      storedSeq(accept(connection, message("m").to(a).build()).get(0));
      connection.rollback();
    }

    assertThat(store.admin().messages()).isZero();
    assertThat(ready(a)).isEmpty();
    assertThat(effects()).isEmpty();
    stored(message("m").to(a).build());
  }

  @Test
  void whatAnOpenTransactionStoresIsBusyForThoseWhoShareACommit() throws SQLException {
    List<NewMessage> shared =
        List.of(message("held").to(a).build(), message("other").to(a).build());
    try (Connection connection = transaction()) {
      accept(connection, message("held").to(a).build());
      List<AcceptResult> results = store.acceptor().acceptTogether(shared);

      assertThat(results).hasSize(2);
      assertThat(results.get(0)).isEqualTo(new AcceptResult.Busy());
      storedSeq(results.get(1));
      connection.rollback();
    }

    stored(shared.get(0));
    assertThat(ready(a)).hasSize(2);
  }

  @Test
  void theConnectionStaysTheCallers() throws SQLException {
    try (Connection connection = transaction()) {
      accept(connection, message("first").to(a).build());
      assertThat(connection.isClosed()).isFalse();
      assertThat(connection.getAutoCommit()).isFalse();

      accept(connection, message("second").to(a).build());
      effect(connection, "mine");
      connection.commit();
    }

    assertThat(ready(a)).hasSize(2);
  }

  @Test
  void aMessageAcceptedInATransactionIsKnownLaterInTheSameOne() throws SQLException {
    try (Connection connection = transaction()) {
      long seq = storedSeq(accept(connection, message("m").to(a).build()).get(0));
      AcceptResult.Known again = asKnown(accept(connection, message("m").to(a, b).build()).get(0));

      assertThat(again.seq()).isEqualTo(seq);
      assertThat(again.added()).containsExactly(b);
      connection.commit();
    }

    assertThat(ready(a)).hasSize(1);
    assertThat(ready(b)).hasSize(1);
  }

  @Test
  void repeatsConflictsAndNumbersAreAnsweredAsEverywhere() throws SQLException {
    long known = stored(message("known").content("first").to(a).build());
    try (Connection connection = transaction()) {
      List<AcceptResult> results =
          accept(
              connection,
              message("z").to(a).build(),
              message("known").content("first").to(a, b).build(),
              message("known").content("second").to(a, b).build(),
              message("y").to(a).build());

      assertThat(asKnown(results.get(1)).added()).containsExactly(b);
      assertThat(results.get(2)).isEqualTo(new AcceptResult.Differs(known));
      assertThat(storedSeq(results.get(3))).isGreaterThan(storedSeq(results.get(0)));
      connection.commit();
    }

    assertThat(ready(b)).extracting(Delivery::seq).containsExactly(known);
  }

  @Test
  void aConnectionInAutocommitModeIsRefused() throws SQLException {
    try (Connection connection = dataSource().getConnection()) {
      connection.setAutoCommit(true);
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> accept(connection, message("m").to(a).build()))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_REQUIRED));
    }

    assertThat(store.admin().messages()).isZero();
  }

  @Test
  void aCallerWithAnOldSnapshotNeverAddsADeliveryThatHasLivedMeanwhile() throws SQLException {
    long seq = stored(message("m").to(a).build());
    try (Connection connection = transaction()) {
      connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      effects(connection); // takes the snapshot, where the database has one
      known(message("m").to(a, b).build());
      settle(ready(b, seq), completed());

      try {
        AcceptResult.Known stale =
            asKnown(accept(connection, message("m").to(a, b).build()).get(0));
        assertThat(stale.added()).isEmpty();
        connection.commit();
      } catch (StoreException e) {
        assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
        connection.rollback();
      }
    }

    assertThat(ready(b)).isEmpty();
    assertThat(store.admin().open(b.keyId())).isZero();
  }

  private List<AcceptResult> accept(Connection connection, NewMessage... batch) {
    List<AcceptResult> results = store.acceptor().accept(connection, List.of(batch));
    assertThat(results).hasSize(batch.length);
    return results;
  }
}
