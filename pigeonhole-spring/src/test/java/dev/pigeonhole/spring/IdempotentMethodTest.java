package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.io.IOException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.Ordered;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** A method runs once for each key, in one transaction with its receipt. */
class IdempotentMethodTest {

  @Configuration(proxyBeanMethods = false)
  static class WithGuard {
    @Bean
    static IdempotentMethods idempotentMethods() {
      return new IdempotentMethods();
    }

    @Bean
    GuardTemplate guard(JdbcStore store, PlatformTransactionManager manager) {
      return GuardTemplate.on(store, manager, options -> options.named("shop").lanes(4));
    }
  }

  public record Charged(String order, int run) {}

  static class Cards {
    private final JdbcTemplate jdbc;
    private int runs;

    Cards(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @IdempotentMethod(handler = "charge-card", key = "#order.order")
    public Charged charge(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      synchronized (this) {
        return new Charged(order.order(), ++runs);
      }
    }

    public Charged chargeFromWithin(OrderPlaced order) {
      return charge(order);
    }

    @IdempotentMethod(
        handler = "note",
        key = {"#tenant", "#order.order"})
    @Transactional
    public void note(String tenant, OrderPlaced order) throws IOException {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      if (tenant.equals("failing")) {
        throw new IOException("a checked one rolls back, too");
      }
    }

    @IdempotentMethod(handler = "find", key = "#order.order")
    public Charged find(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      return null;
    }

    @IdempotentMethod(handler = "count", key = "#order.order")
    public int count(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      return 42;
    }

    @IdempotentMethod(handler = "compare", key = "#order.order", request = "#order")
    public void compare(OrderPlaced order) {}
  }

  private static World world(TestDatabase database, Class<?> basics, Class<?>... beans) {
    return new World(database)
        .with(World.Basics.class, basics, WithGuard.class)
        .with(beans)
        .start();
  }

  private static World world(Class<?>... beans) {
    return world(TestDatabases.open(DatabaseKind.POSTGRES), World.Jdbc.class, beans);
  }

  @Test
  void aRepeatIsNotRunAndGetsTheAnswerOfTheFirst() {
    try (World world = world(Cards.class)) {
      Cards cards = world.bean(Cards.class);
      assertThat(cards.charge(new OrderPlaced("o-1", "c"))).isEqualTo(new Charged("o-1", 1));
      assertThat(cards.charge(new OrderPlaced("o-1", "c"))).isEqualTo(new Charged("o-1", 1));
      assertThat(cards.charge(new OrderPlaced("o-2", "c"))).isEqualTo(new Charged("o-2", 2));
      assertThat(world.notes()).isEqualTo(2);
    }
  }

  /** Its handler is known since the start, so the first call needs no connection besides. */
  @Test
  void aCallInATransactionNeedsOnlyItsConnection() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    HikariDataSource pool = database.pool(1);
    pool.setConnectionTimeout(10_000);
    try (World world = new World(database, pool)) {
      world.with(World.Basics.class, World.Jdbc.class, WithGuard.class, Cards.class).start();
      Cards cards = world.bean(Cards.class);
      world.transaction().executeWithoutResult(status -> cards.charge(new OrderPlaced("o-1", "c")));
      assertThat(world.notes()).isEqualTo(1);
      assertThat(world.completed()).isEqualTo(1);
    }
  }

  /** The first call makes its handler known, then, if it gets a connection for it. */
  @Test
  void aStoreThatCannotLearnOfHandlersAtStartDoesNotHoldUpTheApplication() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    ListAppender<ILoggingEvent> log = World.logOf(IdempotentMethods.class);
    try (World world = new World(database)) {
      database.execute(
          "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql"
              + " AS 'BEGIN RAISE EXCEPTION ''not now''; END'");
      database.execute(
          "CREATE TRIGGER refuse BEFORE INSERT ON pigeonhole_handler"
              + " FOR EACH ROW EXECUTE FUNCTION refuse()");
      world.with(World.Basics.class, World.Jdbc.class, WithGuard.class, Cards.class).start();
      assertThat(log.list).singleElement().asString().contains("first call", "not now");

      database.execute("DROP TRIGGER refuse ON pigeonhole_handler");
      assertThat(world.bean(Cards.class).charge(new OrderPlaced("o-1", "c")))
          .isEqualTo(new Charged("o-1", 1));
    }
  }

  @Test
  void anAnswerOfNullOrANumberIsReplayedToo() {
    try (World world = world(Cards.class)) {
      Cards cards = world.bean(Cards.class);
      for (int i = 0; i < 2; i++) {
        assertThat(cards.find(new OrderPlaced("o-1", "c"))).isNull();
        assertThat(cards.count(new OrderPlaced("o-1", "c"))).isEqualTo(42);
      }
      assertThat(world.notes()).isEqualTo(2);
    }
  }

  /** It does not come through the proxy that guards it; see the page on Spring. */
  @Test
  void aCallFromWithinTheSameObjectIsNotGuarded() {
    try (World world = world(Cards.class)) {
      Cards cards = world.bean(Cards.class);
      assertThat(cards.chargeFromWithin(new OrderPlaced("o-1", "c")).run()).isEqualTo(1);
      assertThat(cards.chargeFromWithin(new OrderPlaced("o-1", "c")).run()).isEqualTo(2);
      assertThat(world.notes()).isEqualTo(2);
      assertThat(world.completed()).isZero();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class KeepingFailures {
    @Bean
    static IdempotentMethods idempotentMethods() {
      return new IdempotentMethods();
    }

    @Bean
    GuardTemplate guard(JdbcStore store, PlatformTransactionManager manager) {
      return GuardTemplate.on(
          store,
          manager,
          options -> options.named("shop").lanes(4).keepFailures(IOException.class));
    }
  }

  @Test
  void aFailureIsNeverKeptWhateverTheGuardWasTold() {
    try (World world =
        World.postgres()
            .with(World.Basics.class, World.Jdbc.class, KeepingFailures.class, Cards.class)
            .start()) {
      Cards cards = world.bean(Cards.class);
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> cards.note("failing", new OrderPlaced("o-1", "c")))
            .isInstanceOf(IOException.class);
        assertThatThrownBy(
                () ->
                    world
                        .transaction()
                        .executeWithoutResult(
                            status ->
                                assertThatThrownBy(
                                        () -> cards.note("failing", new OrderPlaced("o-1", "c")))
                                    .isInstanceOf(IOException.class)))
            .hasMessageStartingWith("PH-TX-09");
      }
      assertThat(world.completed()).isZero();
    }
  }

  @Test
  void whatFailsIsRolledBackAndRunsAgain() throws IOException {
    try (World world = world(Cards.class)) {
      Cards cards = world.bean(Cards.class);
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> cards.note("failing", new OrderPlaced("o-1", "c")))
            .isInstanceOf(IOException.class);
      }
      assertThat(world.notes()).isZero();
      assertThat(world.completed()).isZero();

      cards.note("a", new OrderPlaced("o-1", "c"));
      cards.note("a", new OrderPlaced("o-1", "c"));
      cards.note("b", new OrderPlaced("o-1", "c"));
      assertThat(world.notes()).isEqualTo(2);
    }
  }

  @Test
  void itJoinsTheTransactionOfItsCaller() {
    try (World world = world(Cards.class)) {
      Cards cards = world.bean(Cards.class);
      world
          .transaction()
          .executeWithoutResult(
              status -> {
                cards.charge(new OrderPlaced("o-1", "c"));
                status.setRollbackOnly();
              });
      assertThat(world.notes()).isZero();
      assertThat(world.completed()).isZero();

      world.transaction().execute(status -> cards.charge(new OrderPlaced("o-1", "c")));
      assertThat(world.notes()).isEqualTo(1);
      assertThat(cards.charge(new OrderPlaced("o-1", "c")).run()).isEqualTo(2);
    }
  }

  static class Renamed {
    private final JdbcTemplate jdbc;

    Renamed(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @IdempotentMethod(
        handler = "charge-account",
        formerly = "charge-card",
        type = "charge-card",
        key = "#order.order")
    public Charged charge(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      return new Charged(order.order(), -1);
    }
  }

  @Test
  void whatWasDoneUnderAFormerNameIsARepeat() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    try (World before = world(database, World.Jdbc.class, Cards.class)) {
      Charged first = before.bean(Cards.class).charge(new OrderPlaced("o-1", "c"));
      try (World world = world(database, World.Jdbc.class, Renamed.class)) {
        Renamed renamed = world.bean(Renamed.class);
        assertThat(renamed.charge(new OrderPlaced("o-1", "c"))).isEqualTo(first);
        assertThat(renamed.charge(new OrderPlaced("o-2", "c")).run()).isEqualTo(-1);
        assertThat(world.notes()).isEqualTo(2);
      }
    }
  }

  static class Delivered {
    private final JdbcTemplate jdbc;

    Delivered(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "keyed", key = "charge")
    @Transactional
    public void deliver(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }

    @IdempotentMethod(handler = "charge", type = "OrderPlaced", key = "#order.order")
    public void call(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Keyed {
    @Bean
    ChannelBuilder keyed() {
      ChannelBuilder channel = Channel.named("keyed");
      channel.on(OrderPlaced.class).keyedBy(OrderPlaced::order);
      return channel;
    }
  }

  @Test
  void whatTheInboxHasDeliveredToTheHandlerIsARepeat() {
    try (World world = world(World.WithInbox.class, Keyed.class, Delivered.class)) {
      world.inbox().accept("keyed", World.order(1));
      world.inbox().drain();
      world.bean(Delivered.class).call(new OrderPlaced("o-1", "c"));
      assertThat(world.notes()).isEqualTo(1);
      world.bean(Delivered.class).call(new OrderPlaced("o-2", "c"));
      assertThat(world.notes()).isEqualTo(2);
    }
  }

  static class Persisting {
    @PersistenceContext private EntityManager entities;

    @IdempotentMethod(handler = "persist", key = "#order.order")
    public void persist(OrderPlaced order) throws IOException {
      entities.persist(new Effect(order.order()));
      throw new IOException("while JPA has not written anything yet");
    }
  }

  static class Storing {
    @PersistenceContext private EntityManager entities;

    @IdempotentMethod(handler = "store", key = "#order.order")
    public void store(OrderPlaced order) {
      entities.persist(new Effect(order.order()));
    }
  }

  static class Amounts {
    private final JdbcTemplate jdbc;

    Amounts(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @IdempotentMethod(handler = "pay", key = "#amount")
    public void pay(BigDecimal amount) {
      jdbc.update("INSERT INTO note (order_id) VALUES ('any')");
    }
  }

  @Test
  void equalAmountsAreOneKeyHoweverManyZerosTheyHave() {
    try (World world = world(Amounts.class)) {
      Amounts amounts = world.bean(Amounts.class);
      for (String amount : List.of("1.0", "1.00", "1")) {
        amounts.pay(new BigDecimal(amount));
      }
      assertThat(world.notes()).isEqualTo(1);
      for (String amount : List.of("100", "1E+2", "100.0")) {
        amounts.pay(new BigDecimal(amount));
      }
      assertThat(world.notes()).isEqualTo(2);
      for (String amount : List.of("1E+999999999", "10E+999999998")) {
        amounts.pay(new BigDecimal(amount)); // its digits would fill the memory
      }
      assertThat(world.notes()).isEqualTo(3);
    }
  }

  static class Accounts {
    @PersistenceContext private EntityManager entities;

    @IdempotentMethod(handler = "open-account", key = "#id")
    public void open(String id) {
      entities.persist(new Account(id));
    }

    @IdempotentMethod(handler = "rename-account", key = "#request")
    public Account rename(String request, String id) {
      return change(request, id);
    }

    public Account change(String owner, String id) {
      Account account = entities.find(Account.class, id);
      account.owner = owner;
      return account;
    }
  }

  /** JPA sets versions and calls callbacks of entities when it writes them. */
  @Test
  void aRepeatGetsAnEntityAsTheFirstRunHasWrittenIt() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    try (World world = world(database, World.Jpa.class, Accounts.class)) {
      database.execute(
          "CREATE TABLE account (id VARCHAR(20) PRIMARY KEY, revision INT NOT NULL,"
              + " owner_name VARCHAR(20), touched VARCHAR(3))");
      Accounts accounts = world.bean(Accounts.class);
      accounts.open("a");

      Account own = accounts.rename("alone", "a");
      assertThat(own).extracting(it -> it.revision, it -> it.touched).containsExactly(1, "yes");
      assertThat(accounts.rename("alone", "a")).usingRecursiveComparison().isEqualTo(own);

      Account joined = world.transaction().execute(status -> accounts.rename("joined", "a"));
      assertThat(joined.revision).isEqualTo(2);
      assertThat(accounts.rename("joined", "a")).usingRecursiveComparison().isEqualTo(joined);

      GuardTemplate guard = world.bean(GuardTemplate.class);
      GuardKey key = GuardKey.of("change-account", "change-account", "template");
      Guarded<Account> first =
          guard.answer(key, Account.class, tx -> accounts.change("template", "a"));
      assertThat(((Guarded.Ran<Account>) first).value())
          .extracting(it -> it.revision, it -> it.touched)
          .containsExactly(3, "yes");
      Guarded<Account> repeat = guard.answer(key, Account.class, tx -> null);
      assertThat(((Guarded.Repeat<Account>) repeat).answer().orElseThrow())
          .usingRecursiveComparison()
          .isEqualTo(((Guarded.Ran<Account>) first).value());
    }
  }

  /** H2 writes in a read-only transaction, and JPA does not. */
  @Test
  void noReceiptIsWrittenInAReadOnlyTransactionWhoseEffectsJpaLeavesOut() {
    try (World world = world(TestDatabases.open(DatabaseKind.H2), World.Jpa.class, Storing.class)) {
      TransactionTemplate reading = world.transaction();
      reading.setReadOnly(true);
      OrderPlaced order = new OrderPlaced("o-1", "c");
      assertThatThrownBy(
              () -> reading.executeWithoutResult(status -> world.bean(Storing.class).store(order)))
          .hasMessageStartingWith("PH-TX-06");
      assertThat(world.completed()).isZero();

      world.bean(Storing.class).store(order);
      assertThat(world.effects()).isOne();
    }
  }

  @Test
  void whatABodyThatFailedHasLeftInJpaIsNotWrittenByItsCaller() {
    try (World world =
        world(TestDatabases.open(DatabaseKind.POSTGRES), World.Jpa.class, Persisting.class)) {
      Persisting failing = world.bean(Persisting.class);
      assertThatThrownBy(
              () ->
                  world
                      .transaction()
                      .executeWithoutResult(
                          status ->
                              assertThatThrownBy(() -> failing.persist(new OrderPlaced("o-1", "c")))
                                  .isInstanceOf(IOException.class)))
          .hasMessageStartingWith("PH-TX-09");
      assertThat(world.effects()).isZero();
    }
  }

  static class AnsweringTooMuch {
    @PersistenceContext private EntityManager entities;

    @IdempotentMethod(handler = "persist", key = "#order.order")
    public String persist(OrderPlaced order) {
      entities.persist(new Effect(order.order()));
      return "x".repeat(100_000);
    }
  }

  /** The body has returned, and the guard has refused what it returned. */
  @Test
  void whatABodyWithoutAReceiptHasLeftInJpaIsNotWrittenByItsCaller() {
    try (World world =
        world(TestDatabases.open(DatabaseKind.POSTGRES), World.Jpa.class, AnsweringTooMuch.class)) {
      AnsweringTooMuch method = world.bean(AnsweringTooMuch.class);
      assertThatThrownBy(
              () ->
                  world
                      .transaction()
                      .executeWithoutResult(
                          status ->
                              assertThatThrownBy(() -> method.persist(new OrderPlaced("o-1", "c")))
                                  .hasMessageStartingWith("PH-GRD-02")))
          .hasMessageStartingWith("PH-TX-09");
      assertThat(world.effects()).isZero();
    }
  }

  @Test
  void aKeyThatIsUsedForSomethingElseIsRefusedAndSoIsNone() {
    try (World world = world(Cards.class)) {
      Cards cards = world.bean(Cards.class);
      cards.compare(new OrderPlaced("o-1", "c"));
      cards.compare(new OrderPlaced("o-1", "c"));
      assertThatThrownBy(() -> cards.compare(new OrderPlaced("o-1", "another")))
          .isInstanceOfSatisfying(
              InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REQUEST_DIFFERS));
      assertThatThrownBy(() -> cards.compare(new OrderPlaced(null, "c")))
          .isInstanceOf(MissingKeyException.class);
    }
  }

  /** Under JPA on PostgreSQL, and plainly on both servers. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void copiesThatComeTogetherRunOnce(TestDatabase database) throws Exception {
    Class<?> manager =
        database.kind() == DatabaseKind.POSTGRES ? World.Jpa.class : World.Jdbc.class;
    int copies = 8;
    int keys = 25;
    try (World world = world(database, manager, Cards.class)) {
      Cards cards = world.bean(Cards.class);
      ExecutorService threads = Executors.newFixedThreadPool(copies);
      CyclicBarrier together = new CyclicBarrier(copies);
      List<Callable<List<Charged>>> calls = new ArrayList<>();
      for (int copy = 0; copy < copies; copy++) {
        calls.add(
            () -> {
              List<Charged> answers = new ArrayList<>();
              together.await();
              for (int key = 0; key < keys; key++) {
                answers.add(untilNotBusy(cards, new OrderPlaced("o-" + key, "c")));
              }
              return answers;
            });
      }
      List<List<Charged>> answers = new ArrayList<>();
      for (Future<List<Charged>> each : threads.invokeAll(calls)) {
        answers.add(each.get());
      }
      threads.shutdown();

      assertThat(world.notes()).isEqualTo(keys);
      assertThat(answers).allMatch(answers.get(0)::equals);
    }
  }

  private static Charged untilNotBusy(Cards cards, OrderPlaced order) {
    while (true) {
      try {
        return cards.charge(order);
      } catch (InboxException e) {
        if (e.code() != ErrorCode.GUARD_BUSY) {
          throw e;
        }
      }
    }
  }

  /** As the JDK is: the parameter has a name in its source, and none in its class. */
  @Test
  void aClassWithoutTheNamesOfParametersIsToldHowToKeepThem() throws NoSuchMethodException {
    Method concat = String.class.getMethod("concat", String.class);
    assertThatThrownBy(() -> KeyPath.of("#str", concat))
        .hasMessage(
            "\"#str\": there is no parameter 'str'. Known are: #arg0. The class was compiled without"
                + " the names of parameters; compile it with -parameters");
  }

  static class Wrong {
    @IdempotentMethod(handler = "a", key = "#ordre.id")
    public void wrongParameter(OrderPlaced order) {}

    @IdempotentMethod(handler = "b", key = "#order.id")
    public void wrongProperty(OrderPlaced order) {}

    @IdempotentMethod(handler = "c", key = "T(java.lang.Runtime).getRuntime()")
    public void noPath(OrderPlaced order) {}

    @IdempotentMethod(handler = "d", key = "#order")
    public void noText(OrderPlaced order) {}

    @IdempotentMethod(handler = "e")
    public void noKey(OrderPlaced order) {}

    @IdempotentMethod(handler = "f", key = "#order.order")
    public List<String> generic(OrderPlaced order) {
      return List.of();
    }

    @IdempotentMethod(handler = "anything", key = "#order.order")
    public Object anything(OrderPlaced order) {
      return order;
    }

    @IdempotentMethod(handler = "whatever", key = "#order.order")
    public <R> R whatever(OrderPlaced order) {
      return null;
    }

    @IdempotentMethod(handler = "g", key = "#order.order")
    public final void unproxied(OrderPlaced order) {}

    @IdempotentMethod(handler = "", key = "#order.order")
    public void unnamed(OrderPlaced order) {}

    @IdempotentMethod(handler = "h", key = "#order.order")
    @SuppressWarnings("unused")
    private void hidden(OrderPlaced order) {}

    @IdempotentMethod(handler = "i", key = "#order.order")
    public static void ofTheClass(OrderPlaced order) {}

    @IdempotentMethod(handler = "j", key = "#order.order")
    @Async
    public void async(OrderPlaced order) {}

    @IdempotentMethod(handler = "k", key = "#order.order")
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void alone(OrderPlaced order) {}
  }

  static final class Final {
    @IdempotentMethod(handler = "l", key = "#order.order")
    public void inAFinalClass(OrderPlaced order) {}
  }

  static class Same {
    @IdempotentMethod(handler = "a", key = "#order.order")
    public void same(OrderPlaced order) {}
  }

  @Test
  void everyMistakeIsReportedTogetherWithItsPlace() {
    try (World world = new World(TestDatabases.open(DatabaseKind.H2))) {
      world.with(World.Basics.class, World.Jdbc.class, WithGuard.class);
      world.with(Wrong.class, Same.class, Final.class);
      Throwable refused = NestedExceptionUtils.getMostSpecificCause(catchThrowable(world::start));

      assertThat(refused).isInstanceOf(ConfigurationException.class);
      List<Problem> problems = ((ConfigurationException) refused).problems();
      assertThat(problems)
          .extracting(each -> each.code().text())
          .containsExactlyInAnyOrder(
              "PH-SPR-02", // wrongParameter
              "PH-SPR-02", // wrongProperty
              "PH-SPR-02", // noPath
              "PH-SPR-02", // noText
              "PH-SPR-02", // noKey
              "PH-SPR-02", // generic
              "PH-SPR-02", // anything
              "PH-SPR-02", // whatever
              "PH-SPR-02", // unproxied
              "PH-SPR-02", // hidden
              "PH-SPR-02", // ofTheClass
              "PH-SPR-02", // async
              "PH-TX-10", // alone
              "PH-SPR-02", // inAFinalClass
              "PH-KEY-01", // unnamed
              "PH-KEY-02"); // a, twice
      assertThat(problems)
          .extracting(Problem::text)
          .anyMatch(text -> text.contains("Known are: #order"))
          .anyMatch(text -> text.contains("it returns java.lang.Object, and the answer"))
          .anyMatch(text -> text.contains("it returns R, and the answer"))
          .anyMatch(text -> text.contains("has no property 'id'"));
    }
  }

  abstract static class Charging<R> {
    private final JdbcTemplate jdbc;

    Charging(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @IdempotentMethod(handler = "charge", key = "#order.order")
    public R charge(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      return charged(order);
    }

    abstract R charged(OrderPlaced order);
  }

  static class CardCharging extends Charging<Charged> {
    CardCharging(JdbcTemplate jdbc) {
      super(jdbc);
    }

    @Override
    Charged charged(OrderPlaced order) {
      return new Charged(order.order(), 1);
    }
  }

  static class AccountCharging extends CardCharging {
    AccountCharging(JdbcTemplate jdbc) {
      super(jdbc);
    }
  }

  @Test
  void anAnswerThatATypeVariableStandsForIsReplayed() {
    try (World world = world(CardCharging.class)) {
      for (int i = 0; i < 2; i++) {
        Charged answer = world.bean(CardCharging.class).charge(new OrderPlaced("o-1", "c"));
        assertThat(answer).isEqualTo(new Charged("o-1", 1));
      }
      assertThat(world.notes()).isEqualTo(1);
    }
  }

  /** What one has done, the other would take for a repeat. */
  @Test
  void aMethodThatTwoBeansInheritIsRefused() {
    try (World world = new World(TestDatabases.open(DatabaseKind.H2))) {
      world.with(World.Basics.class, World.Jdbc.class, WithGuard.class);
      world.with(CardCharging.class, AccountCharging.class);
      assertThatThrownBy(world::start)
          .isInstanceOf(ConfigurationException.class)
          .hasMessageStartingWith("PH-KEY-02: The handler 'charge' is used by ")
          .hasMessageContaining(CardCharging.class.getName())
          .hasMessageContaining(AccountCharging.class.getName())
          .hasMessageContaining("Override the method in the class of one");
    }
  }

  /** For the second name of cards Spring makes a second proxy, because of its transactions. */
  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement(proxyTargetClass = true)
  static class WithSecondNames {
    @Bean
    Cards cards(JdbcTemplate jdbc) {
      return new Cards(jdbc);
    }

    @Bean
    Object second(Cards cards) {
      return cards;
    }

    @Bean
    CardCharging charging(JdbcTemplate jdbc) {
      return new CardCharging(jdbc);
    }

    @Bean
    Object secondCharging(CardCharging charging) {
      return charging;
    }
  }

  @Test
  void aBeanWithASecondNameIsGuardedOnce() {
    try (World world = world(WithSecondNames.class)) {
      for (String name : List.of("second", "cards", "second")) {
        Cards cards = world.context.getBean(name, Cards.class);
        assertThat(cards.charge(new OrderPlaced("o-1", "c"))).isEqualTo(new Charged("o-1", 1));
      }
      for (String name : List.of("secondCharging", "charging")) {
        CardCharging charging = world.context.getBean(name, CardCharging.class);
        assertThat(charging.charge(new OrderPlaced("o-2", "c"))).isEqualTo(new Charged("o-2", 1));
      }
      assertThat(world.notes()).isEqualTo(2);
    }
  }

  /** Looks for listeners as those of RabbitMQ and Kafka do: last of all. */
  static class ListenerSearch implements BeanPostProcessor, Ordered {
    private boolean guarded;

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      guarded |= bean instanceof Cards && AopUtils.isAopProxy(bean);
      return bean;
    }

    @Override
    public int getOrder() {
      return LOWEST_PRECEDENCE;
    }
  }

  @Test
  void whoeverLooksForListenersFindsThemBehindTheirGuard() {
    try (World world = world(Cards.class, ListenerSearch.class)) {
      assertThat(world.bean(ListenerSearch.class).guarded).isTrue();
    }
  }
}
