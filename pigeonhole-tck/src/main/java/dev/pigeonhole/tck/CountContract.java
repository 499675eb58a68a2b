package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.groups.Tuple.tuple;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.TypeCount;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Counts by type of message and by exact key, none of them further than a bound. */
abstract class CountContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  CountContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  private long order(String id, HandlerId... handlers) {
    return stored(message(id).type("order").to(handlers).build());
  }

  private long mail(String id, HandlerId... handlers) {
    return stored(message(id).type("mail").to(handlers).build());
  }

  @Test
  void typesAreCountedByWhereTheirDeliveriesStand() {
    order("two", a, b);
    mail("one", b);
    settle(ready(a, order("scheduled", a)), failedFor(Duration.ofHours(1)));
    settle(ready(a, order("due", a)), failedFor(Duration.ZERO));
    settle(ready(b, mail("blocked", b)), blocked());
    settle(ready(b, mail("poisoned", b)), poisoned());
    settle(ready(b, mail("completed", b)), completed());
    stored(message("placed").type("mail").at(5).to(a).build());
    stored(message("nobodys").type("other").build());

    assertThat(store.admin().countsByType(100))
        .containsExactlyInAnyOrder(
            new TypeCount(true, DeliveryState.PENDING, "order", 2),
            new TypeCount(true, DeliveryState.PENDING, "mail", 1),
            new TypeCount(false, DeliveryState.SCHEDULED, "order", 1),
            new TypeCount(false, DeliveryState.PENDING, "order", 1),
            new TypeCount(false, DeliveryState.PENDING, "mail", 1),
            new TypeCount(false, DeliveryState.BLOCKED, "mail", 1),
            new TypeCount(false, DeliveryState.POISONED, "mail", 1));
  }

  @Test
  void noMoreThanAskedForAreLookedAt() {
    for (int i = 0; i < 4; i++) {
      order("fresh-" + i, a);
      settle(ready(a, order("later-" + i, a)), failedFor(Duration.ofHours(1)));
      settle(ready(a, order("poisoned-" + i, a)), poisoned());
    }

    assertThat(store.admin().countsByType(3))
        .containsExactlyInAnyOrder(
            new TypeCount(true, DeliveryState.PENDING, "order", 3),
            new TypeCount(false, DeliveryState.SCHEDULED, "order", 3),
            new TypeCount(false, DeliveryState.POISONED, "order", 3));
  }

  @Test
  void whatIsReplayedToAnotherKeyOfItsHandlerIsCountedUnderTheKeyThatItKeeps() {
    long seq = order("m", a);
    settle(ready(a, seq), completed());
    List<HandlerId> both = family("b", "a"); // had numbers of their own before
    store.admin().replay(SOURCE, "m", both.get(0), "ada", "once more");

    assertThat(store.admin().open(a, 100)).isEqualTo(1);
    assertThat(store.admin().open(both.get(1), 100)).isEqualTo(1);
    assertThat(store.admin().open(b, 100)).isZero();
    assertThat(store.admin().counts(100))
        .extracting(HandlerCounts::handler, each -> each.pending().value())
        .containsExactlyInAnyOrder(tuple("a", 1L), tuple("b", 0L));

    settle(ready(b, seq), poisoned());
    assertThat(store.admin().counts(100))
        .extracting(HandlerCounts::handler, each -> each.poisoned().value())
        .containsExactlyInAnyOrder(tuple("a", 1L), tuple("b", 0L));
  }

  @Test
  void whatIsOpenUnderOneKeyIsCountedUpToABound() {
    order("fresh", a);
    settle(ready(a, order("later", a)), failedFor(Duration.ofHours(1)));
    settle(ready(a, order("blocked", a)), blocked());
    settle(ready(a, order("poisoned", a)), poisoned());
    settle(ready(a, order("completed", a)), completed());
    order("of-b", b);
    List<HandlerId> renamed = family("a2", "a");
    order("new", renamed.get(0));

    assertThat(store.admin().open(a, 100)).isEqualTo(3).isEqualTo(store.admin().open(a.keyId()));
    assertThat(store.admin().open(a, 3)).isEqualTo(3);
    assertThat(store.admin().open(a, 2)).isEqualTo(2);
    assertThat(store.admin().open(renamed.get(0), 100)).isEqualTo(1);
  }
}
