package dev.pigeonhole;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.transport.MessageSource;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
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

  /** A source that says for how long it delivers again, if it does. */
  private record Queue(@Nullable Duration horizon) implements MessageSource {
    @Override
    public String name() {
      return "queue:orders";
    }

    @Override
    public Optional<Duration> repeatHorizon() {
      return Optional.ofNullable(horizon);
    }

    @Override
    public void start(dev.pigeonhole.transport.Acceptor acceptor) {}

    @Override
    public void pause(String reason) {}

    @Override
    public void resume() {}

    @Override
    public void stop(Duration patience) {}
  }

  private static void keeping(
      @Nullable Duration ofInbox, @Nullable Duration ofType, @Nullable Duration ofHandler) {
    keeping(ofInbox, ofType, ofHandler, Duration.ofDays(3));
  }

  private static void keeping(
      @Nullable Duration ofInbox,
      @Nullable Duration ofType,
      @Nullable Duration ofHandler,
      @Nullable Duration horizon) {
    TypeBuilder<String> type = Channel.named("orders").on(String.class).named("OrderPlaced");
    if (ofType != null) {
      type.keepReceipts(ofType);
    }
    Channel channel =
        ofHandler == null
            ? type.handle("reserve", text -> {}).build()
            : type.handle("reserve", text -> {}, HandlerOption.keepingReceipts(ofHandler)).build();
    InboxBuilder inbox = Inbox.on(store()).channel(channel, new Queue(horizon));
    if (ofInbox != null) {
      inbox.keepReceipts(ofInbox);
    }
    inbox.build();
  }

  @Test
  void d78_phCfg10_aMemoryThatEndsBeforeTheSourceGivesUpIsWarnedAbout() {
    keeping(Duration.ofDays(2), null, null);

    assertThat(warnings.texts()).hasSize(1);
    assertThat(warnings.texts().get(0))
        .contains(
            ErrorCode.RETENTION_TOO_SHORT.text(),
            "'orders'",
            "'OrderPlaced'",
            "PT48H after",
            "queue:orders",
            "again for PT72H",
            "Raise keepReceipts to PT72H");
  }

  @Test
  void d78_phCfg10_theTimeThatDecidesIsCompared() {
    keeping(Duration.ofDays(300), Duration.ofDays(1), null);
    keeping(Duration.ofDays(300), null, Duration.ofDays(1));
    keeping(null, Duration.ofDays(1), Duration.ofDays(2));
    assertThat(warnings.texts()).hasSize(3).allMatch(text -> text.contains("PH-CFG-10"));
  }

  @Test
  void d78_phCfg10_aMemoryThatIsLongEnoughIsNotTalkedAbout() {
    keeping(Duration.ofDays(3), null, null);
    keeping(null, null, null);
    keeping(Duration.ofDays(1), Duration.ofDays(4), null);
    keeping(Duration.ofDays(1), Duration.ofDays(2), Duration.ofDays(4));
    keeping(null, null, null, Duration.ofDays(1000));
    keeping(Duration.ofDays(1), null, null, null);
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
                    .stream().map(each -> (AcceptResult) new AcceptResult.Stored(1, 0)).toList());
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
