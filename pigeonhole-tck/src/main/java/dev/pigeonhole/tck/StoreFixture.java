package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.testkit.TestClock;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;

/**
 * An open store on a clock that stands still, and the short words that the contracts are told in.
 */
abstract class StoreFixture {
  static final String SOURCE = "contract";
  static final int MANY = 10_000;

  final InboxStoreContract contract;
  final TestClock clock = new TestClock();

  /** How much too fast the store's clock goes; somebody may set it right. */
  volatile Duration ahead = Duration.ZERO;

  InboxStore store;

  StoreFixture(InboxStoreContract contract) {
    this.contract = contract;
  }

  @BeforeEach
  void openAnEmptyStore() {
    store = contract.store(() -> clock.now().plus(ahead));
    store.maintenance().open(contract.settings());
  }

  int lanes() {
    return contract.settings().lanes();
  }

  // Handlers

  /** The id of a handler that was never renamed. */
  HandlerId handler(String key) {
    return family(key).get(0);
  }

  /** The ids of a key and its former keys. */
  List<HandlerId> family(String... keys) {
    return store.maintenance().register(List.of(List.of(keys))).get(0);
  }

  Cell cell(int lane, HandlerId handler) {
    return new Cell(lane, handler.family());
  }

  List<Cell> cells(HandlerId handler) {
    return IntStream.range(0, lanes()).mapToObj(lane -> cell(lane, handler)).toList();
  }

  // Accepting

  MessageBuilder message(String id) {
    return new MessageBuilder(SOURCE, id);
  }

  AcceptResult accept(NewMessage message) {
    return accept(List.of(message)).get(0);
  }

  List<AcceptResult> accept(List<NewMessage> batch) {
    List<AcceptResult> results = store.acceptor().accept(batch);
    assertThat(results).hasSameSizeAs(batch);
    return results;
  }

  /** Accepts what must be new, and answers its number. */
  long stored(NewMessage message) {
    return storedSeq(accept(message));
  }

  /** Accepts what must be known, and answers how. */
  AcceptResult.Known known(NewMessage message) {
    return asKnown(accept(message));
  }

  static long storedSeq(AcceptResult result) {
    assertThat(result).isInstanceOf(AcceptResult.Stored.class);
    return ((AcceptResult.Stored) result).seq();
  }

  static AcceptResult.Known asKnown(AcceptResult result) {
    assertThat(result).isInstanceOf(AcceptResult.Known.class);
    return (AcceptResult.Known) result;
  }

  /** Accepts a message for this handler and reads its delivery. */
  Delivery delivered(String id, HandlerId handler) {
    return ready(handler, stored(message(id).to(handler).build()));
  }

  StoredMessage load(long seq) {
    return present(store.deliveries().load(List.of(seq)).get(seq));
  }

  // Reading

  /** Fresh deliveries in all lanes. */
  List<Delivery> fresh(HandlerId handler) {
    return store
        .deliveries()
        .fresh(cells(handler).stream().map(cell -> Range.after(cell, 0, MANY)).toList());
  }

  DueRead dueRead(HandlerId handler) {
    return store
        .deliveries()
        .due(cells(handler).stream().map(cell -> DueRange.fromStart(cell, MANY)).toList());
  }

  List<Delivery> due(HandlerId handler) {
    return dueRead(handler).rows();
  }

  /** Deliveries with a place in all lanes. */
  List<Delivery> placed(HandlerId handler) {
    return store
        .deliveries()
        .placed(cells(handler).stream().map(cell -> new CellLimit(cell, MANY)).toList());
  }

  /** Everything of the handler that could run now. */
  List<Delivery> ready(HandlerId handler) {
    return concat(placed(handler), concat(fresh(handler), due(handler)));
  }

  /** The delivery of this message, which must be ready to run. */
  Delivery ready(HandlerId handler, long seq) {
    List<Delivery> found = ready(handler).stream().filter(row -> row.seq() == seq).toList();
    assertThat(found).as("ready deliveries of message %s", seq).hasSize(1);
    return found.get(0);
  }

  /** The delivery as an operator sees it. */
  DeliveryView view(String id, HandlerId handler) {
    return store.admin().find(SOURCE, id, handler.family()).orElseThrow();
  }

  /** The same delivery as lists show it. */
  static DeliveryView withoutStack(DeliveryView view) {
    return new DeliveryView(
        view.message(),
        view.type(),
        view.handler(),
        view.state(),
        view.failures(),
        view.crashes(),
        view.releases(),
        view.receivedAt(),
        view.due(),
        view.ended(),
        view.lastFailure()
            .map(
                it ->
                    new Failure(
                        it.code(), it.type(), it.message(), "", it.fingerprint(), it.at())));
  }

  // Settling

  /** Settles what nobody else may have settled. */
  void settle(Delivery delivery, Outcome outcome) {
    assertThat(trySettle(delivery, outcome)).as("refused").isEmpty();
  }

  /** Settles what somebody else has settled. */
  void refused(Delivery delivery, Outcome outcome) {
    assertThat(trySettle(delivery, outcome)).as("refused").containsExactly(delivery);
  }

  Set<Delivery> trySettle(Delivery delivery, Outcome outcome) {
    return settleAll(List.of(new Settlement(delivery, outcome)));
  }

  /** Settles as the engine does: again what was locked. Answers what was refused. */
  Set<Delivery> settleAll(List<Settlement> settlements) {
    Set<Delivery> refused = new LinkedHashSet<>();
    List<Settlement> left = settlements;
    while (true) {
      SettleResult result = store.deliveries().settle(left);
      refused.addAll(result.refused());
      if (result.locked().isEmpty()) {
        return refused;
      }
      left = left.stream().filter(each -> result.locked().contains(each.delivery())).toList();
    }
  }

  Failure failure(String text) {
    return new Failure(
        ErrorCode.HANDLER_FAILED,
        "java.lang.IllegalStateException",
        text,
        "java.lang.IllegalStateException: " + text + "\n\tat shop.Stock.reserve(Stock.java:42)",
        "5f3c2a1b90de4477",
        clock.now());
  }

  static Outcome completed() {
    return new Outcome.Completed();
  }

  Outcome failedFor(Duration delay) {
    return new Outcome.RetryAfter(delay, failure("not now"));
  }

  Outcome failed() {
    return failedFor(Duration.ZERO);
  }

  static Outcome laterUncounted() {
    return new Outcome.LaterUncounted(Duration.ZERO);
  }

  Outcome poisoned() {
    return new Outcome.Poisoned(failure("never"), true);
  }

  static Outcome released() {
    return new Outcome.Released();
  }

  static Outcome blocked() {
    return new Outcome.Blocked();
  }

  /** Fails the delivery this often and reads it again each time. */
  Delivery failed(Delivery delivery, HandlerId handler, int times) {
    Delivery last = delivery;
    for (int i = 0; i < times; i++) {
      settle(last, failed());
      last = ready(handler, delivery.seq());
    }
    return last;
  }

  /** What must be there. */
  static <T> T present(@Nullable T value) {
    if (value == null) {
      throw new AssertionError("Expected to be there, but is missing.");
    }
    return value;
  }

  static <T> List<T> concat(List<T> first, List<T> second) {
    return Stream.concat(first.stream(), second.stream()).toList();
  }
}
