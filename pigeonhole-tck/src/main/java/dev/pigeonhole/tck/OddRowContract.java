package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Settlement;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rows that no ordinary run leaves behind. */
abstract class OddRowContract extends DatabaseFixture {

  OddRowContract(DatabaseStoreContract contract) {
    super(contract);
  }

  @Test
  void aReceiptThatAlreadyExistsIsToleratedAndItsNeighboursAreSettled() {
    Delivery odd = delivered("odd", a);
    Delivery neighbour = delivered("neighbour", a);
    database.plantReceipt(odd);

    assertThat(
            settleAll(
                List.of(new Settlement(odd, completed()), new Settlement(neighbour, completed()))))
        .isEmpty();
    assertThat(ready(a)).isEmpty();
    assertThat(view("odd", a).state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(view("neighbour", a).state()).isEqualTo(DeliveryState.COMPLETED);
  }

  @Test
  void pg18_largeNumbersAreNumbersLikeOthers() {
    for (long start : List.of((1L << 31) - 3, (1L << 53) - 3)) {
      database.continueNumbersAfter(start);
      for (int i = 0; i < 6; i++) {
        String id = start + "-" + i;
        long seq = stored(message(id).ordered("k").to(a).build());
        assertThat(seq).isGreaterThan(start);
        assertThat(load(seq).id()).isEqualTo(id);
        Delivery delivery = failed(ready(a, seq), a, 1);
        settle(delivery, i % 2 == 0 ? completed() : poisoned());
        assertThat(known(message(id).ordered("k").to(a).build()).seq()).isEqualTo(seq);
      }
    }
  }
}
