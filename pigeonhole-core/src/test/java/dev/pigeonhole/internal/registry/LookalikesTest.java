package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Specs;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LookalikesTest {
  private static final ChannelSpec ORDERS =
      Specs.channel(
          Channel.named("orders")
              .on(String.class)
              .named("OrderPlaced")
              .on(String.class)
              .named("shipped", "goods.sent")
              .on(String.class)
              .named("A"));

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
