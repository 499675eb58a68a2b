package dev.pigeonhole.outbox;

import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.outbox.Office.ALL;
import static dev.pigeonhole.outbox.Office.POSTGRES;
import static dev.pigeonhole.outbox.Office.SERVERS;
import static dev.pigeonhole.outbox.Office.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** Inside one database a message needs no relay. */
class ShortcutTest {

  private final List<String> handled = new CopyOnWriteArrayList<>();

  private Inbox shipping(Office office) {
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleMessage("ship", received -> handled.add(received.message().toString()))
            .build();
    return office.inbox().channel(orders).build();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void itIsInTheInboxWhenTheTransactionCommitsAndNothingIsStaged(TestDatabase database) {
    Office office = Office.in(database);
    Inbox shipping = shipping(office);
    Outbox outbox = office.outbox().into(OrderPlaced.class, shipping.publisher("orders")).build();
    String id = office.commit(connection -> outbox.publish(connection, order(1)));
    office.rollBack(connection -> outbox.publish(connection, order(2)));
    shipping.drain();

    assertThat(handled).singleElement().asString().contains("outbox").contains(id);
    assertThat(office.staged()).isZero();
    assertThat(outbox.drain()).isZero();
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void relayedAndShortRoutesShareATransaction(TestDatabase database) {
    Office office = Office.in(database);
    Inbox shipping = shipping(office);
    Outbox outbox =
        office
            .outbox()
            .route(String.class, office.transport)
            .into(OrderPlaced.class, shipping.publisher("orders"))
            .build();
    List<String> ids =
        office.commit(
            connection ->
                outbox.publish(
                    connection, List.of(Message.of("text"), order(1), Message.of("more"))));
    shipping.drain();
    outbox.drain();

    assertThat(handled).singleElement().asString().contains(ids.get(1));
    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder(ids.get(0), ids.get(2));
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void b33_aChannelThatStoresNothingIsRefusedWhateverItSaysOfItself(TestDatabase database) {
    Office office = Office.in(database);
    Channel clicks =
        Channel.named("clicks")
            .direct()
            .withoutInbox()
            .on(OrderPlaced.class)
            .handle("count", each -> {})
            .build();
    Channel now =
        Channel.named("now").on(OrderPlaced.class).handle("at-once", each -> {}, inline()).build();
    Inbox shipping =
        office
            .inbox()
            .channel(now)
            .channel(Channel.named("text").on(String.class).handle("t", each -> {}).build())
            .build();
    Pigeonhole.of(shipping).direct(clicks).codec(new LineCodec()).build();

    assertThatThrownBy(() -> shipping.publisher("clicks"))
        .isInstanceOf(InboxException.class)
        .hasMessageStartingWith("PH-OBX-05")
        .hasMessageContaining("clicks")
        .hasMessageContaining("withoutInbox()");
    assertThatThrownBy(() -> shipping.publisher("now")).hasMessageStartingWith("PH-OBX-05");
    assertThat(shipping.publisher("text")).isNotNull();
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aChannelInAnotherDatabaseIsRefused(TestDatabase database) {
    Office office = Office.in(database);
    try (TestDatabase other = TestDatabases.open(DatabaseKind.H2)) {
      Inbox elsewhere = shipping(Office.in(other));

      assertThatThrownBy(
              () -> office.outbox().into(OrderPlaced.class, elsewhere.publisher("orders")).build())
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-OBX-02")
          .hasMessageContaining("InProcess");
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatTheChannelRejectsIsRefusedWhenItIsPublished(TestDatabase database) {
    Office office = Office.in(database);
    Inbox shipping = shipping(office);
    Outbox outbox = office.outbox().into(String.class, shipping.publisher("orders")).build();

    assertThatThrownBy(
            () -> office.commit(connection -> outbox.publish(connection, Message.of("text"))))
        .isInstanceOf(InboxException.class)
        .hasMessageStartingWith("PH-KEY-07");
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aWakeFindsItAtOnce(TestDatabase database) {
    Office office = Office.in(database);
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleMessage("ship", received -> handled.add(received.message().id()))
            .build();
    Inbox shipping =
        office
            .inbox()
            .channel(orders)
            .polling(Duration.ofMinutes(5), Duration.ofMinutes(5))
            .build();
    Outbox outbox = office.outbox().into(OrderPlaced.class, shipping.publisher("orders")).build();
    try (RunningInbox running = shipping.start()) {
      office.commit(connection -> outbox.publish(connection, order(1)));
      outbox.wake();
      Eventually.until(Duration.ofMinutes(5), () -> running.healthy() && handled.size() == 1);
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void theAnswerIsWhatTheChannelKnowsItBy(TestDatabase database) {
    Office office = Office.in(database);
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .keyedBy(OrderPlaced::order)
            .handle("ship", order -> {})
            .build();
    Inbox shipping = office.inbox().channel(orders).build();
    Outbox outbox = office.outbox().into(OrderPlaced.class, shipping.publisher("orders")).build();

    for (String customer : List.of("c-1", "c-2")) { // with a key, content is not compared
      Message order = Message.of(new OrderPlaced("o-1", customer));
      assertThat(office.<String>commit(connection -> outbox.publish(connection, order)))
          .isEqualTo("o-1");
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void anOrderOrAMapperOfItsOwnIsRefused(TestDatabase database) {
    Office office = Office.in(database);
    Inbox shipping = shipping(office);
    for (Route<OrderPlaced> each :
        List.of(
            Route.of(OrderPlaced.class).orderedBy(OrderPlaced::customer),
            Route.of(OrderPlaced.class).mappedBy(MessageMapper.plain()))) {
      assertThatThrownBy(() -> office.outbox().into(each, shipping.publisher("orders")).build())
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-CFG-16")
          .hasMessageContaining("OrderPlaced");
    }
  }

  /** The connections of a pool that is told its database, whose URL names none. */
  private static HikariDataSource catalogued(TestDatabase database) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(database.jdbcUrl().replace("/" + database.schema(), "/"));
    config.setUsername(database.user());
    config.setPassword(database.password());
    config.setCatalog(database.schema());
    config.setMaximumPoolSize(4);
    return new HikariDataSource(config);
  }

  @Test
  void twoDatabasesOfOneServerAreNotTheSame() {
    try (TestDatabase here = TestDatabases.open(DatabaseKind.MARIADB);
        TestDatabase there = TestDatabases.open(DatabaseKind.MARIADB);
        HikariDataSource one = catalogued(here);
        HikariDataSource again = catalogued(here);
        HikariDataSource other = catalogued(there)) {
      JdbcStore store = JdbcStore.of(one);

      assertThat(store.sharesTransactionsWith(JdbcStore.of(again))).isTrue();
      assertThat(store.sharesTransactionsWith(JdbcStore.of(other))).isFalse();
      assertThat(store.sharesTransactionsWith(JdbcStore.of(one).schema(there.schema()))).isTrue();
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void anOutboxWithShortcutsAloneWarnsOfNothing(TestDatabase database) {
    Office office = Office.in(database);
    Inbox shipping = shipping(office);
    Logger log = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
    ListAppender<ILoggingEvent> seen = new ListAppender<>();
    seen.start();
    log.addAppender(seen);
    try {
      office.outbox().into(OrderPlaced.class, shipping.publisher("orders")).build();
    } finally {
      log.detachAppender(seen);
    }
    assertThat(seen.list)
        .filteredOn(each -> each.getLevel().isGreaterOrEqual(Level.WARN))
        .extracting(ILoggingEvent::getFormattedMessage)
        .isEmpty();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void ofAListThatAChannelRefusesNothingIsStagedAndTheTransactionGoesOn(TestDatabase database) {
    Office office = Office.in(database);
    Channel orders =
        Channel.named("orders")
            .onConflict(OnConflict.REJECT)
            .on(OrderPlaced.class)
            .handleMessage("ship", received -> handled.add(received.message().id()))
            .build();
    Inbox shipping = office.inbox().channel(orders).build();
    Publisher channel = shipping.publisher("orders");
    office.commit(
        connection -> {
          channel.publish(connection, order(1).id("before"));
          assertThatThrownBy(
                  () ->
                      channel.publish(
                          connection, List.of(order(2).id("half"), order(3).id("before"))))
              .isInstanceOf(InboxException.class)
              .hasMessageStartingWith("PH-ID-08");
          assertThatThrownBy(
                  () -> channel.publish(connection, List.of(order(2).id("half"), order(3).id(" "))))
              .hasMessageStartingWith("PH-ID-02");
          return channel.publish(connection, List.of(order(4).id("after"), order(5).id("all")));
        });
    shipping.drain();

    assertThat(handled).containsExactlyInAnyOrder("before", "after", "all");
  }

  /** An inbox with a channel for each policy, named after it. */
  private <P extends Enum<P>> Inbox oneFor(
      P[] policies, BiFunction<ChannelBuilder, P, ChannelBuilder> with, Office office) {
    InboxBuilder inbox = office.inbox();
    for (P each : policies) {
      inbox.channel(
          with.apply(Channel.named(each.name()), each)
              .on(OrderPlaced.class)
              .handleMessage("ship-" + each, received -> handled.add(received.message().id()))
              .build());
    }
    return inbox.build();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aTypeThatNoHandlerTakesIsRefusedWhateverTheChannelDoesWithOthers(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Inbox shipping = oneFor(Unhandled.values(), ChannelBuilder::unhandled, office);
    Message note = Message.encoded("n-1", "note", new byte[] {1}, "text/plain");
    for (Unhandled each : Unhandled.values()) {
      Outbox outbox =
          office
              .outbox()
              .into(Route.of(String.class).named("note"), shipping.publisher(each.name()))
              .build();
      office.commit(
          connection -> {
            Office.effect(connection, each.name());
            assertThatThrownBy(() -> outbox.publish(connection, note))
                .isInstanceOf(InboxException.class)
                .hasMessageStartingWith("PH-KEY-09")
                .hasMessageContainingAll("'note'", "'" + each + "'");
            return each;
          });
    }

    assertThat(office.effects()).isEqualTo(Unhandled.values().length);
    assertThat(office.rows("pigeonhole_message")).isZero();
    assertThat(office.rows("pigeonhole_unhandled")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anIdThatIsTakenIsRefusedWhateverTheChannelDoesWithOthers(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Inbox shipping = oneFor(OnConflict.values(), ChannelBuilder::onConflict, office);
    List<String> taken = new ArrayList<>();
    for (OnConflict each : OnConflict.values()) {
      Outbox outbox =
          office.outbox().into(OrderPlaced.class, shipping.publisher(each.name())).build();
      String id = "taken-" + each;
      taken.add(office.commit(connection -> outbox.publish(connection, order(1).id(id))));
      office.commit(
          connection -> {
            Office.effect(connection, id);
            Message other = order(2).id(id);
            for (List<Message> list : List.of(List.of(other), List.of(order(3), other))) {
              assertThatThrownBy(() -> outbox.publish(connection, list))
                  .isInstanceOf(InboxException.class)
                  .hasMessageStartingWith("PH-ID-08")
                  .hasMessageContaining(id);
            }
            return outbox.publish(connection, order(1).id(id)); // the same again
          });
    }
    shipping.drain();

    assertThat(handled).containsExactlyInAnyOrderElementsOf(taken);
    assertThat(office.effects()).isEqualTo(OnConflict.values().length);
    assertThat(office.rows("pigeonhole_message")).isEqualTo(OnConflict.values().length);
    assertThat(office.rows("pigeonhole_conflict")).isZero();
  }
}
