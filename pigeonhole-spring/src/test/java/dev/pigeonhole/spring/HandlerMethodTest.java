package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabases;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** What a handler method may look like, and what it may not. */
class HandlerMethodTest {

  private static World world(Class<?>... beans) {
    return new World(TestDatabases.open(DatabaseKind.H2))
        .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
        .with(beans);
  }

  private static List<Problem> problems(Class<?>... beans) {
    try (World world = world(beans)) {
      Throwable refused = NestedExceptionUtils.getMostSpecificCause(catchThrowable(world::start));
      assertThat(refused).isInstanceOf(ConfigurationException.class);
      return ((ConfigurationException) refused).problems();
    }
  }

  static class Everything {
    final List<Object> seen = new ArrayList<>();
    private final Inbox inbox;

    /** It needs the inbox that is built for it. */
    Everything(Inbox inbox) {
      this.inbox = inbox;
    }

    @InboxHandler(channel = "orders", key = "plain", formerly = "plainly")
    protected void plain(
        @InboxHeader("tenant") String tenant,
        OrderPlaced order,
        Headers headers,
        Received<OrderPlaced> received,
        @InboxHeader("count") int count,
        @InboxHeader("missing") Optional<String> missing,
        @InboxHeader(value = "missing", required = false) String absent) {
      seen.add(
          List.of(
              tenant,
              order.order(),
              headers.asMap().size(),
              received.handler(),
              count,
              missing.isPresent(),
              absent == null,
              inbox.name()));
    }

    @InboxHandler(channel = "orders", key = "by-context")
    void byContext(HandlerTransaction<OrderPlaced> tx) throws Exception {
      seen.add(tx.delivery().payload().customer());
      assertThat(tx.connection().getAutoCommit()).isFalse();
    }
  }

  @Test
  void parametersAreGivenByWhatTheyAre() {
    try (World world = world(Everything.class).start()) {
      world.inbox().accept("orders", order(1).header("tenant", "acme").header("count", 7L));
      world.inbox().drain();

      assertThat(world.bean(Everything.class).seen)
          .containsExactlyInAnyOrder(
              List.of("acme", "o-1", 2, "plain", 7, false, true, "shop"), "c-1");
    }
  }

  @Test
  void aMissingHeaderFailsTheAttemptAndNamesTheMethod() {
    try (World world = world(Everything.class).start()) {
      world.inbox().accept("orders", order(1));
      world.inbox().drain();

      assertThat(world.inbox().find("orders", "m-1", "plain").orElseThrow().lastFailure())
          .hasValueSatisfying(
              failure -> {
                assertThat(failure.code().text()).isEqualTo("PH-HDR-06");
                assertThat(failure.message()).contains("tenant").contains("bean '");
              });
      assertThat(world.inbox().find("orders", "m-1", "by-context").orElseThrow().state())
          .isEqualTo(DeliveryState.COMPLETED);
    }
  }

  static class Wrong {
    @InboxHandler(channel = "orders", key = "")
    void noKey(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "two-payloads")
    void twoPayloads(OrderPlaced order, String text) {}

    @InboxHandler(channel = "orders", key = "no-payload")
    void noPayload(Headers headers) {}

    @InboxHandler(channel = "orders", key = "unknown")
    void unknown(OrderPlaced order, int number) {}

    @InboxHandler(channel = "orders", key = "hidden")
    @SuppressWarnings("unused")
    private void hidden(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "final")
    @Transactional
    public final void unproxied(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "later")
    CompletableFuture<Void> later(OrderPlaced order) {
      return new CompletableFuture<>();
    }

    @InboxHandler(channel = "orders", key = "async")
    @Async
    void async(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "alone")
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    void alone(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "alone-too")
    @jakarta.transaction.Transactional(jakarta.transaction.Transactional.TxType.REQUIRES_NEW)
    void aloneToo(OrderPlaced order) {}

    @InboxHandler(channel = "ordres", key = "typo")
    void typo(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "twice")
    void once(OrderPlaced order) {}

    @InboxHandler(channel = "orders", key = "slow", within = "soon")
    void slow(OrderPlaced order) {}
  }

  static class Again {
    @InboxHandler(channel = "orders", key = "twice")
    void again(OrderPlaced order) {}
  }

  /** Rows 27 and 28 of the table of mistakes, and those of methods. */
  @Test
  void d27_d28_everyMistakeIsReportedTogetherWithItsPlace() {
    List<Problem> problems = problems(Wrong.class, Again.class);

    assertThat(problems)
        .extracting(each -> each.code().text())
        .containsExactlyInAnyOrder(
            "PH-KEY-01", // noKey
            "PH-SPR-01", // twoPayloads
            "PH-SPR-01", // noPayload
            "PH-SPR-01", // unknown
            "PH-SPR-01", // hidden
            "PH-SPR-01", // unproxied
            "PH-SPR-01", // later
            "PH-SPR-01", // async
            "PH-TX-10", // alone
            "PH-TX-10", // aloneToo
            "PH-CFG-17", // typo
            "PH-KEY-02", // twice
            "PH-CFG-02"); // slow
    assertThat(problems)
        .filteredOn(each -> !each.code().text().equals("PH-KEY-02"))
        .allMatch(each -> each.text().contains(Wrong.class.getName()))
        .allMatch(each -> each.text().contains("(bean '"));
    assertThat(problems)
        .filteredOn(each -> each.code().text().equals("PH-KEY-02"))
        .singleElement()
        .satisfies(
            each ->
                assertThat(each.text())
                    .contains("again(OrderPlaced) of " + Again.class.getName())
                    .contains("once(OrderPlaced) of " + Wrong.class.getName()));
    assertThat(problems)
        .filteredOn(each -> each.code().text().equals("PH-CFG-17"))
        .singleElement()
        .satisfies(each -> assertThat(each.text()).contains("Known are: orders"));
  }

  @Async
  static class AllAsync {
    @InboxHandler(channel = "orders", key = "async")
    public void async(OrderPlaced order) {}
  }

  static class Promising {
    @InboxHandler(channel = "orders", key = "promised")
    @Transactional
    public CompletableFuture<Void> promised(OrderPlaced order) {
      return new CompletableFuture<>();
    }
  }

  /** What they do elsewhere would neither be in the transaction nor be waited for. */
  @Test
  void jd03_jd11_handlersThatGoOnInAnotherThreadAreRefused() {
    assertThat(problems(AllAsync.class, Promising.class))
        .extracting(Problem::text)
        .satisfiesExactlyInAnyOrder(
            text -> assertThat(text).contains("it is @Async"),
            text ->
                assertThat(text).contains("promised(OrderPlaced)").contains("before returning"));
  }

  interface Face {
    void other();
  }

  static class BehindAnInterface implements Face {
    @Override
    @Transactional
    public void other() {}

    @InboxHandler(channel = "orders", key = "hidden-by-proxy")
    public void handle(OrderPlaced order) {}
  }

  @Test
  void aMethodThatTheProxyOfItsBeanDoesNotHaveIsRefused() {
    assertThat(problems(BehindAnInterface.class))
        .singleElement()
        .satisfies(
            each -> {
              assertThat(each.code().text()).isEqualTo("PH-SPR-01");
              assertThat(each.text()).contains("proxyTargetClass");
            });
  }

  static class Stock implements Face {
    @Override
    public void other() {}

    @InboxHandler(channel = "orders", key = "reserve")
    public void reserve(OrderPlaced order) {}
  }

  /** It is made after the inbox, so that its class is not known before. */
  @Configuration(proxyBeanMethods = false)
  static class ByInterface {
    @Bean
    Face stock(Inbox inbox) {
      return new Stock();
    }
  }

  @Test
  void aHandlerWhoseBeanHidesItIsRefused() {
    assertThat(problems(Again.class, ByInterface.class))
        .singleElement()
        .satisfies(
            each -> {
              assertThat(each.code().text()).isEqualTo("PH-SPR-01");
              assertThat(each.text())
                  .contains("reserve(OrderPlaced) of " + Stock.class.getName())
                  .contains("Declare the bean with its class.");
            });
  }

  @Configuration(proxyBeanMethods = false)
  static class LazilyByInterface {
    @Bean
    @Lazy
    Face lazyStock() {
      throw new IllegalStateException("nobody asks for it");
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class WithASecondName {
    @Bean
    Stock stock() {
      return new Stock();
    }

    @Bean
    Face face(Stock stock, Inbox inbox) {
      return stock;
    }
  }

  @Test
  void aSecondNameOfABeanIsNoSecondHandlerAndLazyBeansStayAsTheyAre() {
    try (World world = world(WithASecondName.class, LazilyByInterface.class).start()) {
      world.inbox().accept("orders", order(1));
      world.inbox().drain();
      assertThat(world.inbox().find("orders", "m-1", "reserve").orElseThrow().state())
          .isEqualTo(DeliveryState.COMPLETED);
    }
  }

  interface Reserving {
    void reserve(OrderPlaced order);
  }

  static class ScopedStock implements Reserving {
    static final AtomicInteger CALLS = new AtomicInteger();

    @Override
    @InboxHandler(channel = "orders", key = "reserve-scoped")
    public void reserve(OrderPlaced order) {
      CALLS.incrementAndGet();
    }
  }

  /** The first bean asks for the proxy, so that it is there before the inbox is built. */
  @Configuration(proxyBeanMethods = false)
  static class Scoped {
    @Bean
    String first(Reserving scoped) {
      return "made early";
    }

    @Bean
    @Scope(value = "prototype", proxyMode = ScopedProxyMode.INTERFACES)
    ScopedStock scoped() {
      return new ScopedStock();
    }
  }

  @Test
  void aHandlerBehindAProxyOfItsScopeIsFound() {
    ScopedStock.CALLS.set(0);
    try (World world =
        new World(TestDatabases.open(DatabaseKind.H2))
            .with(Scoped.class, World.Basics.class, World.Jdbc.class, World.WithInbox.class)
            .start()) {
      world.inbox().accept("orders", order(1));
      world.inbox().drain();
      assertThat(ScopedStock.CALLS).hasValue(1);
    }
  }

  static class FinalBehindProxy {
    @Transactional
    public void other() {}

    @InboxHandler(channel = "orders", key = "final-behind-proxy")
    public final void handle(OrderPlaced order) {}
  }

  @Test
  void aFinalMethodOfABeanBehindAProxyIsRefused() {
    assertThat(problems(FinalBehindProxy.class))
        .singleElement()
        .satisfies(each -> assertThat(each.text()).contains("Remove final"));
  }

  @Test
  void handlersThatNobodyTakesAreRefused() {
    try (World world = new World(TestDatabases.open(DatabaseKind.H2))) {
      world.with(World.Basics.class, World.Jdbc.class, Again.class);
      assertThat(NestedExceptionUtils.getMostSpecificCause(catchThrowable(world::start)))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-CFG-08")
          .hasMessageContaining("again(OrderPlaced)");
    }
  }

  static class Failing {
    @InboxHandler(channel = "orders", key = "failing")
    public void fail(OrderPlaced order) {
      throw new IllegalStateException("always");
    }
  }

  /** Puts an aspect of the application before the handlers of these tests. */
  static class Counting implements BeanPostProcessor {
    private int calls;

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      if (!(bean instanceof Failing)) {
        return bean;
      }
      ProxyFactory proxy = new ProxyFactory(bean);
      proxy.setProxyTargetClass(true);
      proxy.addAdvice((MethodBeforeAdvice) (method, arguments, target) -> calls++);
      return proxy.getProxy();
    }
  }

  @Test
  void aHandlerIsCalledThroughItsProxyAndWithItsOptions() {
    try (World world = world(Failing.class, Counting.class, OnceOnly.class).start()) {
      world.inbox().accept("orders", order(1));
      world.inbox().drain();

      assertThat(world.bean(Counting.class).calls).isEqualTo(1);
      assertThat(world.inbox().find("orders", "m-1", "failing").orElseThrow().state())
          .isEqualTo(DeliveryState.POISONED);
    }
  }

  /** Asks for an option before the inbox is built. */
  static class OnceOnly implements BeanPostProcessor {
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      return bean instanceof SpringInboxes inboxes
          ? inboxes.options(
              "failing", HandlerOption.retrying(RetryPolicy.defaults().maxAttempts(1)))
          : bean;
    }
  }

  @Test
  void anInboxRunsAsLongAsItsContext() {
    World world =
        new World(TestDatabases.open(DatabaseKind.H2))
            .with(World.Basics.class, World.Jdbc.class, World.WithInbox.class)
            .with(World.Running.class, Again.class);
    try (world) {
      world.start();
      PigeonholeLifecycle running = world.bean(PigeonholeLifecycle.class);
      assertThat(running.isRunning()).isTrue();
      assertThat(running.getPhase()).isEqualTo(Integer.MAX_VALUE - 1000);
      world.context.stop();
      assertThat(running.isRunning()).isFalse();
      world.context.start();
      assertThat(running.isRunning()).isTrue();
      world.context.close();
      assertThat(running.isRunning()).isFalse();
    }
  }

  static class Parcels {
    @InboxHandler(channel = "parcels", key = "pack")
    void pack(OrderPlaced order) {
      throw new IllegalStateException("no tape");
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class MadeChannels {
    @Bean
    SpringInboxes inboxes() {
      return new SpringInboxes()
          .otherChannels(Channel::named)
          .optionsOfAll(HandlerOption.retrying(RetryPolicy.defaults().maxAttempts(1)));
    }

    @Bean
    Inbox inbox(SpringInboxes inboxes, DataSource dataSource, PlatformTransactionManager manager) {
      return inboxes.on(JdbcStore.of(dataSource), manager).build();
    }
  }

  @Test
  void channelsThatAreNoBeansCanBeMadeAndAllHandlersBeGivenOptions() {
    try (World world =
        new World(TestDatabases.open(DatabaseKind.H2))
            .with(World.Basics.class, World.Jdbc.class, MadeChannels.class, Parcels.class)
            .start()) {
      world.inbox().accept("parcels", order(1));
      world.inbox().drain();

      assertThat(world.inbox().find("parcels", "m-1", "pack").orElseThrow().state())
          .isEqualTo(DeliveryState.POISONED);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Misspelt extends MadeChannels {
    @Override
    @Bean
    SpringInboxes inboxes() {
      return super.inboxes().options("pakc", HandlerOption.atMost(1)).source("parcel");
    }
  }

  @Test
  void optionsAndSourcesOfWhatDoesNotExistAreRefused() {
    try (World world =
        new World(TestDatabases.open(DatabaseKind.H2))
            .with(World.Basics.class, World.Jdbc.class, Misspelt.class, Parcels.class)) {
      Throwable refused = NestedExceptionUtils.getMostSpecificCause(catchThrowable(world::start));
      assertThat(refused)
          .hasMessageContaining("options for the handler key 'pakc'")
          .hasMessageContaining("Known are: pack.")
          .hasMessageContaining("A source: there is no channel 'parcel'.");
    }
  }
}
