package dev.pigeonhole.outbox;

import static dev.pigeonhole.outbox.Office.ALL;
import static dev.pigeonhole.outbox.Office.POSTGRES;
import static dev.pigeonhole.outbox.Office.SERVERS;
import static dev.pigeonhole.outbox.Office.order;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is published is staged with the caller's writes, or not at all. */
class PublishTest {

  @ParameterizedTest
  @MethodSource(ALL)
  void whatIsCommittedGoesOutAndWhatIsRolledBackDoesNot(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Outbox outbox = office.sending();
    String sent =
        office.commit(
            connection -> {
              Office.effect(connection, "e-1");
              return outbox.publish(connection, order(1));
            });
    office.rollBack(
        connection -> {
          Office.effect(connection, "e-2");
          return outbox.publish(connection, order(2));
        });
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactly(sent);
    assertThat(office.effects()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void nobodySeesItBeforeTheCommit(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    office.commit(
        connection -> {
          outbox.publish(connection, order(1));
          return outbox.drain();
        });
    assertThat(office.transport.given()).isEmpty();

    outbox.drain();
    assertThat(office.transport.given()).hasSize(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void ob04_withoutATransactionNothingIsStaged(TestDatabase database) throws SQLException {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    try (Connection connection = office.pool.getConnection()) {
      connection.setAutoCommit(true);
      assertThatThrownBy(() -> outbox.publish(connection, order(1)))
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith("PH-TX-06");
    }
    assertThat(office.staged()).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void onAConnectionToAnotherDatabaseNothingIsStaged(TestDatabase database) throws SQLException {
    Outbox outbox = Office.in(database).sending();
    try (TestDatabase other = TestDatabases.twin(database)) {
      try (Connection connection = begin(other)) {
        assertThatThrownBy(() -> outbox.publish(connection, order(1)))
            .isInstanceOf(StoreException.class)
            .hasMessageStartingWith("PH-TX-10: The connection does not find the tables");
      }
      Office others = Office.in(other);
      others.sending();
      try (Connection connection = begin(other)) {
        assertThatThrownBy(() -> outbox.publish(connection, order(1)))
            .isInstanceOf(StoreException.class)
            .hasMessageStartingWith("PH-TX-10: The connection leads to jdbc:");
        connection.commit();
      }
      assertThat(others.staged()).isZero();
    }
  }

  private static Connection begin(TestDatabase database) throws SQLException {
    Connection connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aMessageWithoutAnIdGetsOneAndAnotherKeepsItsOwn(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    String made = office.commit(connection -> outbox.publish(connection, order(1)));
    String own = office.commit(connection -> outbox.publish(connection, order(2).id("order-2")));
    outbox.drain();

    assertThat(UUID.fromString(made).version()).isEqualTo(7);
    assertThat(own).isEqualTo("order-2");
    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder(made, own);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void theEnvelopeHasAllThatTheMessageHad(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox =
        office
            .outbox()
            .named("shop")
            .route(
                Route.of(OrderPlaced.class).named("order.placed").orderedBy(OrderPlaced::customer),
                office.transport)
            .build();
    String id =
        office.commit(
            connection ->
                outbox.publish(connection, order(1).header("tenant", "acme").header("n", 7L)));
    outbox.drain();

    Envelope envelope = office.transport.given().get(0);
    assertThat(envelope.id()).contains(id);
    assertThat(envelope.source()).contains("shop");
    assertThat(envelope.type()).contains("order.placed");
    assertThat(envelope.key()).contains("c-1");
    assertThat(envelope.contentType()).contains(LineCodec.TYPE);
    assertThat(envelope.body()).asString().isEqualTo("o-1|c-1");
    assertThat(envelope.headers().get("tenant")).isEqualTo("acme");
    assertThat(envelope.headers().get("n")).isEqualTo(7L);
    assertThat(envelope.transport()).isEqualTo("scripted");
    assertThat(envelope.destination()).isEqualTo("test");
  }

  /** A mapper that has a source for what names none. */
  private static MessageMapper from(String source) {
    return new MessageMapper() {
      @Override
      public Message toMessage(Envelope envelope) {
        throw new AssertionError("nothing comes in");
      }

      @Override
      public Optional<String> source() {
        return Optional.of(source);
      }
    };
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatNamesNoSourceHasThatOfItsRoutesMapperOnEveryAttempt(TestDatabase database) {
    Office office = Office.in(database);
    office.transport.failing();
    Route<OrderPlaced> orders = Route.of(OrderPlaced.class).named("placed", "ordered");
    Route<Priced> prices = Route.of(Priced.class).mappedBy(from("/prices"));
    Outbox outbox =
        office
            .timed()
            .named("shop")
            .route(orders.mappedBy(from("/orders")), office.transport)
            .route(prices, office.transport)
            .route(Number.class, office.transport)
            .build();
    office.commit(
        connection ->
            outbox.publish(
                connection,
                List.of(
                    order(1).id("none"),
                    order(2).id("own").from("/elsewhere"),
                    Message.encoded("former", "ordered", new byte[0], LineCodec.TYPE),
                    Message.encoded("price", "Priced", new byte[0], LineCodec.TYPE),
                    Message.encoded("plain", "Number", new byte[0], LineCodec.TYPE))));
    outbox.drain();
    office.transport.confirming();
    office.clock.advance(Duration.ofMinutes(1));
    outbox.drain();

    List<String> once =
        List.of("/orders none", "/elsewhere own", "/orders former", "/prices price", "shop plain");
    assertThat(office.transport.given())
        .extracting(each -> each.source().orElse("") + " " + each.id().orElse(""))
        .hasSize(2 * once.size())
        .hasSameElementsAs(once);
    assertThat(outbox.admin().find("/orders", "none", "placed")).isPresent();
  }

  /** The mapper of a route that only the class above it takes is asked, too. */
  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aSubclassHasTheSourceOfTheRouteThatItGoes(TestDatabase database) {
    Office office = Office.in(database);
    Route<Record> all = Route.of(Record.class).mappedBy(from("/all"));
    Route<OrderPlaced> orders = Route.of(OrderPlaced.class).mappedBy(from("/orders"));
    Outbox outbox =
        office
            .outbox()
            .codec(new PriceCodec())
            .route(all, office.transport)
            .route(orders, office.transport)
            .build();
    office.commit(
        connection ->
            outbox.publish(connection, List.of(order(1), Message.of(new Priced("tea", 1)))));
    outbox.drain();

    assertThat(office.transport.given())
        .extracting(each -> each.source().orElse("") + " " + each.type().orElse(""))
        .containsExactlyInAnyOrder("/orders OrderPlaced", "/all Record");
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void theSameIdAgainChangesNothingAndWithOtherContentItIsRefused(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    office.commit(connection -> outbox.publish(connection, order(1).id("m-1")));
    office.commit(connection -> outbox.publish(connection, order(1).id("m-1")));
    outbox.drain();
    assertThat(office.transport.givenIds()).containsExactly("m-1");

    assertThatThrownBy(
            () -> office.commit(connection -> outbox.publish(connection, order(2).id("m-1"))))
        .isInstanceOf(InboxException.class)
        .hasMessageStartingWith("PH-ID-08");
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void ob06_whatIsTooLargeIsRefusedWhenItIsPublishedAndTheTransactionGoesOn(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Outbox outbox =
        office.outbox().route(OrderPlaced.class, office.transport).maxPayload(100).build();
    office.commit(
        connection -> {
          Office.effect(connection, "e-1");
          assertThatThrownBy(
                  () ->
                      outbox.publish(
                          connection, Message.of(new OrderPlaced("x".repeat(101), "c-1"))))
              .isInstanceOf(InboxException.class)
              .hasMessageStartingWith("PH-PAY-02");
          return outbox.publish(connection, order(1));
        });
    outbox.drain();

    assertThat(office.transport.given()).hasSize(1);
    assertThat(office.effects()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aTypeWithoutARouteIsRefusedAndTheTransactionGoesOn(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    office.commit(
        connection -> {
          assertThatThrownBy(() -> outbox.publish(connection, Message.of("no route")))
              .isInstanceOf(InboxException.class)
              .hasMessageStartingWith("PH-OBX-01")
              .hasMessageContaining("java.lang.String")
              .hasMessageContaining("OrderPlaced");
          Message encoded = Message.encoded("m-1", "order.lost", new byte[0], LineCodec.TYPE);
          assertThatThrownBy(() -> outbox.publish(connection, encoded))
              .hasMessageStartingWith("PH-OBX-01")
              .hasMessageContaining("order.lost");
          return outbox.publish(connection, order(1));
        });
    assertThat(office.staged()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void bytesGoOutAsTheyAre(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Message encoded = Message.encoded(null, "OrderPlaced", new byte[] {1, 0, -1}, "image/x");
    office.commit(connection -> outbox.publish(connection, encoded));
    outbox.drain();

    assertThat(office.transport.given().get(0).body()).containsExactly(1, 0, -1);
    assertThat(office.transport.given().get(0).contentType()).contains("image/x");
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void notBeforeAndAfterAreWaitedFor(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport).build();
    office.commit(
        connection ->
            outbox.publish(
                connection,
                List.of(
                    order(1).id("now"),
                    order(2).id("soon").after(Duration.ofMinutes(5)),
                    order(3).id("later").notBefore(office.clock.now().plusSeconds(600)))));
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactly("now");

    office.clock.advance(Duration.ofMinutes(5));
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactly("now", "soon");

    office.clock.advance(Duration.ofMinutes(5));
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactly("now", "soon", "later");
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void d124_manyInOneTransactionAreStagedInPiecesAndKeepTheirOrder(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox =
        office
            .outbox()
            .route(Route.of(OrderPlaced.class).orderedBy(OrderPlaced::customer), office.transport)
            .build();
    int many = Size.of(1_200, database.kind() == DatabaseKind.POSTGRES ? 100_000 : 10_000);
    int keys = 100;
    List<Message> messages =
        IntStream.range(0, many)
            .mapToObj(i -> Message.of("m-" + i, new OrderPlaced("o-" + i, "c-" + i % keys)))
            .toList();
    List<String> ids = office.commit(connection -> outbox.publish(connection, messages));
    assertThat(office.staged()).isEqualTo(many);

    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrderElementsOf(ids);
    for (int key = 0; key < keys; key++) {
      String customer = "c-" + key;
      assertThat(
              office.transport.given().stream()
                  .filter(each -> each.key().orElseThrow().equals(customer))
                  .map(each -> Integer.parseInt(each.id().orElseThrow().substring(2))))
          .isSorted();
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void operatorsSeeWhatIsStagedAndSent(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    office.commit(connection -> outbox.publish(connection, order(1).id("m-1")));
    assertThat(outbox.admin().find("outbox", "m-1", "OrderPlaced"))
        .hasValueSatisfying(it -> assertThat(it.state()).isEqualTo(DeliveryState.PENDING));

    outbox.drain();
    assertThat(outbox.admin().find("outbox", "m-1", "OrderPlaced"))
        .hasValueSatisfying(it -> assertThat(it.state()).isEqualTo(DeliveryState.COMPLETED));
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatIsSetUpWronglyIsSaidTogether(TestDatabase database) {
    Office office = Office.in(database);

    assertThatThrownBy(() -> office.outbox().build())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-CFG-19");
    assertThatThrownBy(
            () ->
                office
                    .outbox()
                    .route(OrderPlaced.class, office.transport)
                    .route(OrderPlaced.class, office.transport)
                    .sendTimeout(Duration.ZERO)
                    .build())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-KEY-08")
        .hasMessageContaining("PH-CFG-02");
    for (int most : List.of(0, 201)) {
      assertThatThrownBy(
              () ->
                  office.outbox().route(OrderPlaced.class, office.transport).maxBatch(most).build())
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-CFG-05")
          .hasMessageContaining("maxBatch is " + most);
    }
  }

  /** A class that has a business key at its receivers. */
  private record Priced(String item, int price) implements IdempotentMessage {
    @Override
    public String idempotencyKey() {
      return item;
    }
  }

  private static final class PriceCodec implements PayloadCodec {
    @Override
    public String contentType() {
      return "text/x-price";
    }

    @Override
    public byte[] encode(Object payload) {
      return payload.toString().getBytes(UTF_8);
    }

    @Override
    public <T> T decode(byte[] content, String contentType, Class<T> type) {
      throw new IllegalStateException("nobody needs to read it");
    }
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void messagesGoByTheirIdsWhateverBusinessKeyTheirClassHas(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox =
        office.outbox().codec(new PriceCodec()).route(Priced.class, office.transport).build();
    List<String> ids =
        office.commit(
            connection ->
                List.of(
                    outbox.publish(connection, Message.of(new Priced("tea", 1))),
                    outbox.publish(connection, Message.of("v-2", new Priced("tea", 2)))));
    outbox.drain();

    assertThat(ids.get(1)).isEqualTo("v-2");
    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrderElementsOf(ids);
    assertThatThrownBy(
            () ->
                office.commit(
                    connection ->
                        outbox.publish(connection, Message.of("v-2", new Priced("tea", 3)))))
        .hasMessageStartingWith("PH-ID-08");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void ofAListAllAreStagedOrNoneAndTheTransactionGoesOn(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Channel notes =
        Channel.named("notes").on(String.class).named("note").handle("keep", note -> {}).build();
    Inbox inbox = office.inbox().channel(notes).build();
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, office.transport)
            .into(Route.of(String.class).named("note"), inbox.publisher("notes"))
            .maxPayload(100)
            .build();
    Message note = Message.encoded("n-1", "note", new byte[] {1}, "text/plain");
    Message tooLarge = Message.of(new OrderPlaced("x".repeat(101), "c-1"));
    List<Message> mixed = new ArrayList<>(List.of(note));
    IntStream.range(0, 600).forEach(i -> mixed.add(order(i)));
    mixed.add(tooLarge);
    String before =
        office.commit(
            connection -> {
              Office.effect(connection, "e-1");
              String id = outbox.publish(connection, order(0));
              for (List<Message> each : List.of(List.of(order(1), tooLarge), mixed)) {
                assertThatThrownBy(() -> outbox.publish(connection, each))
                    .isInstanceOf(InboxException.class)
                    .hasMessageStartingWith("PH-PAY-02");
              }
              assertThat(outbox.publish(connection, List.of(order(7).id("after"), note)))
                  .containsExactly("after", "n-1");
              return id;
            });
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder(before, "after");
    assertThat(office.rows("pigeonhole_message")).isEqualTo(1);
    assertThat(office.effects()).isEqualTo(1);
  }
}
