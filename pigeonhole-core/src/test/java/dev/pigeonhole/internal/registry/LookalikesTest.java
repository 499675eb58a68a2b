package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.Unhandled;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LookalikesTest {
  private static final ChannelSpec ORDERS =
      new ChannelSpec(
          "orders",
          false,
          false,
          OnConflict.KEEP,
          Unhandled.KEEP,
          OnMissingId.REJECT,
          List.of(type("OrderPlaced"), type("shipped", "goods.sent"), type("A")));

  private static TypeSpec type(String name, String... formerNames) {
    return new TypeSpec(
        String.class,
        name,
        List.of(formerNames),
        null,
        null,
        null,
        null,
        List.of(),
        null,
        List.of());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "OrderPlacd",
        "OrdrePlaced",
        "orderplaced",
        "order-placed",
        "order.placed",
        "ORDER_PLACED",
        "OrderPlaced.v1",
        "com.shop.OrderPlaced",
        "com.shop.Orders$OrderPlaced"
      })
  void aSlipIsTakenForTheNameThatWasMeant(String name) {
    assertThat(Lookalikes.nearest(ORDERS, name)).isEqualTo("OrderPlaced");
  }

  @Test
  void aSlipInAFormerNameLeadsToThePresentOne() {
    assertThat(Lookalikes.nearest(ORDERS, "goods.send")).isEqualTo("shipped");
  }

  @ParameterizedTest
  @ValueSource(strings = {"OrderCancelled", "PaymentPlaced", "B", "-", "ship", "Ordered"})
  void anotherNameResemblesNothing(String name) {
    assertThat(Lookalikes.nearest(ORDERS, name)).isNull();
  }
}
