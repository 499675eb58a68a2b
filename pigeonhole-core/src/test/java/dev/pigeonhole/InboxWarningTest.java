package dev.pigeonhole;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What an inbox takes without complaint, but says aloud. */
class InboxWarningTest {
  @RegisterExtension final Warnings warnings = new Warnings();

  @Test
  void aTypeWithoutAHandlerIsNamedAtTheStart() {
    Inbox.on(store())
        .named("shop")
        .channel(
            Channel.named("orders")
                .on(String.class)
                .handle("reserve", text -> {})
                .on(byte[].class)
                .named("scan")
                .build())
        .build();

    assertThat(warnings.texts()).hasSize(1);
    assertThat(warnings.texts().get(0)).contains("shop", "'orders'", "byte[]", "without a handler");
  }

  @Test
  void aDirectTypeWithoutAHandlerIsNamedToo() {
    Pigeonhole.of().direct(Channel.named("live").direct().on(String.class).build()).build();

    assertThat(warnings.texts()).hasSize(1);
    assertThat(warnings.texts().get(0)).contains("'live'", "without a handler", "dropped");
  }

  @Test
  void aMisspeltTypeIsAcceptedAndNamedOnceWithTheOneThatWasMeant() {
    Inbox inbox = orders();

    assertThat(inbox.accept("orders", sent("m-1", "OrderPlacd")))
        .isInstanceOf(Acceptance.Accepted.class);
    inbox.accept("orders", sent("m-2", "OrderPlacd"));

    assertThat(warnings.texts()).hasSize(1);
    assertThat(warnings.texts().get(0)).contains("'orders'", "'OrderPlacd'", "'OrderPlaced'");
  }

  @Test
  void aTypeThatResemblesNothingIsNotTalkedAbout() {
    orders().accept("orders", sent("m-1", "PaymentReceived"));

    assertThat(warnings.texts()).isEmpty();
  }

  @Test
  void whoeverSendsANewTypeEveryTimeIsNotTalkedAboutForEver() {
    Inbox inbox = orders();
    for (int i = 0; i < 1_000; i++) {
      inbox.accept("orders", sent("m-" + i, "something else " + i));
    }

    inbox.accept("orders", sent("m-1000", "OrderPlacd"));

    assertThat(warnings.texts()).isEmpty();
  }

  private static Inbox orders() {
    return Inbox.on(store())
        .channel(
            Channel.named("orders")
                .on(String.class)
                .named("OrderPlaced")
                .handle("reserve", text -> {})
                .build())
        .build();
  }

  private static Message sent(String id, String type) {
    return Message.encoded(id, type, "x".getBytes(UTF_8), "text/plain");
  }

  /** Says yes to everything and keeps nothing. */
  private static InboxStore store() {
    Maintenance maintenance =
        stub(
            Maintenance.class,
            (self, method, arguments) ->
                method.getName().equals("register")
                    ? List.of(List.of(new HandlerId("reserve", 1, 1)))
                    : List.of());
    Acceptor acceptor =
        stub(
            Acceptor.class,
            (self, method, arguments) ->
                ((List<?>) arguments[0])
                    .stream().map(each -> (AcceptResult) new AcceptResult.Stored(1)).toList());
    return stub(
        InboxStore.class,
        (self, method, arguments) ->
            switch (method.getName()) {
              case "maintenance" -> maintenance;
              case "acceptor" -> acceptor;
              case "transactions", "wakeUps" -> Optional.empty();
              case "clock" -> InstantSource.system();
              default -> throw new UnsupportedOperationException(method.getName());
            });
  }

  private static <T> T stub(Class<T> type, InvocationHandler answers) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, answers));
  }
}
