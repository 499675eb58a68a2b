package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreSettings;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What only shows inside; the contract of all stores runs in {@code pigeonhole-tck}. */
class MemoryStoreTest {
  private final TestClock clock = new TestClock();
  private final MemoryStore store = MemoryStore.create().clock(clock);

  @AfterEach
  void forget() {
    CrashPlan.clear();
  }

  @Test
  void withoutAClockTheSystemsTimeIsTaken() {
    Instant before = Instant.now();
    Instant told = MemoryStore.create().clock().instant();
    assertThat(told).isBetween(before, Instant.now());
    assertThat(store.clock().instant()).isEqualTo(clock.now());
    assertThat(store.interruptible()).isTrue();
  }

  @Test
  void keysCanOnlyBeRegisteredInAnOpenStore() {
    assertThatIllegalStateException()
        .isThrownBy(() -> store.maintenance().register(List.of(List.of("a"))));
  }

  @Test
  void aConflictIsKeptWithItsContentUnlessItIsRejected() {
    HandlerId handler = handler();
    accept(message("m", 1, OnConflict.KEEP, handler));
    byte[] second = {2};
    accept(message("m", second, OnConflict.KEEP, handler));
    second[0] = 9;
    accept(message("m", 3, OnConflict.REJECT, handler));

    assertThat(store.tables().conflicts)
        .singleElement()
        .satisfies(row -> assertThat(row.copy().content()).containsExactly(2));
  }

  @Test
  void aReceiptThatAlreadyExistsIsTolerated() {
    HandlerId handler = handler();
    Delivery delivery = delivered("m", handler);
    store
        .tables()
        .receipts
        .put(Tables.RowKey.of(delivery), new Tables.ReceiptRow(delivery, clock.now(), false));

    assertThat(settle(delivery, new Outcome.Completed())).isTrue();
    assertThat(fresh(handler)).isEmpty();
  }

  @Test
  void aRetryIsAudited() {
    HandlerId handler = handler();
    Failure failure = new Failure(ErrorCode.HANDLER_FAILED, "", "", "", "", clock.now());
    settle(delivered("m", handler), new Outcome.Poisoned(failure, true));

    store.admin().retry("shop", "m", handler.family(), "ada", "fixed");
    store.admin().retry("shop", "m", handler.family(), "ada", "once more");

    assertThat(store.tables().audit)
        .containsExactly(
            new Tables.AuditRow(
                clock.now(),
                "retry",
                "shop/m for handler '%s'".formatted(handler.key()),
                "ada",
                "fixed"));
  }

  @Test
  void aCrashBeforeTheCommitLeavesNothingAndOneAfterItEverything() {
    HandlerId handler = handler();
    CrashPlan.at("accept.before-commit").throwing(() -> new IllegalStateException("cut"));
    assertThatThrownBy(() -> accept(message("first", 1, OnConflict.KEEP, handler)))
        .hasMessage("cut");
    assertThat(store.admin().messages()).isZero();

    CrashPlan.at("accept.after-commit").throwing(() -> new IllegalStateException("cut"));
    assertThatThrownBy(() -> accept(message("second", 1, OnConflict.KEEP, handler)))
        .hasMessage("cut");
    assertThat(store.admin().messages()).isEqualTo(1);

    Delivery delivery = fresh(handler).get(0);
    CrashPlan.at("settle.before-commit").throwing(() -> new IllegalStateException("cut"));
    assertThatThrownBy(() -> settle(delivery, new Outcome.Completed())).hasMessage("cut");
    assertThat(fresh(handler)).containsExactly(delivery);
  }

  private HandlerId handler() {
    store.maintenance().open(new StoreSettings("test", 1, 1, 1000));
    return store.maintenance().register(List.of(List.of("a"))).get(0).get(0);
  }

  private Delivery delivered(String id, HandlerId handler) {
    accept(message(id, 1, OnConflict.KEEP, handler));
    return fresh(handler).get(0);
  }

  private AcceptResult accept(NewMessage message) {
    return store.acceptor().accept(List.of(message)).get(0);
  }

  private boolean settle(Delivery delivery, Outcome outcome) {
    return store.deliveries().settle(List.of(new Settlement(delivery, outcome))).complete();
  }

  private List<Delivery> fresh(HandlerId handler) {
    return store.deliveries().fresh(List.of(Range.after(new Cell(0, handler.family()), 0, 100)));
  }

  private static NewMessage message(String id, int content, OnConflict policy, HandlerId handler) {
    return message(id, new byte[] {(byte) content}, policy, handler);
  }

  private static NewMessage message(
      String id, byte[] content, OnConflict policy, HandlerId handler) {
    return new NewMessage(
        "shop",
        id,
        "thing",
        List.of("thing"),
        "things",
        "local",
        0,
        null,
        null,
        content,
        "application/octet-stream",
        new byte[0],
        content.clone(),
        policy,
        null,
        null,
        List.of(handler),
        0);
  }
}
