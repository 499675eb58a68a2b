package dev.pigeonhole.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.codec.StructuredCodec;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What tells copies apart where something runs at once: inline handlers, and guards. */
class GuardKeysTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  record Order(String number, String customer) {}

  @Idempotent(key = "cents")
  record Charge(String reference, String cents) implements IdempotentMessage {
    @Override
    public String idempotencyKey() {
      return reference;
    }
  }

  @Idempotent(key = "order")
  record Ship(String order, String note) {}

  @Idempotent
  record Import(String source, String batch) {}

  @Idempotent(key = "odrer")
  record Misspelt(String order) {}

  private final List<Object> handled = new CopyOnWriteArrayList<>();
  private final EventCounts counts = EventCounts.create();
  private TestDatabase database;
  private JdbcStore store;

  private void open(TestDatabase fresh) {
    database = fresh;
    InboxTables.in(fresh);
    store = JdbcStore.of(fresh.pool(4));
  }

  @AfterEach
  void close() {
    database.close();
  }

  private Inbox inbox(TypeBuilder<?> last) {
    return Inbox.on(store).codec(new Lines()).listener(counts).channel(last.build()).build();
  }

  private <T> TypeBuilder<T> on(Class<T> type) {
    return Channel.named("c").inline().on(type).handle("h", handled::add);
  }

  /** The first two are copies of one thing, the third is another. */
  private void assertSecondIsARepeat(Inbox inbox, Message first, Message copy, Message other) {
    handled.clear();
    assertThat(inbox.accept("c", first)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.accept("c", copy)).isInstanceOf(Acceptance.Repeat.class);
    assertThat(inbox.accept("c", other)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(handled).containsExactly(first.payload(), other.payload());
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b15_b22_withoutAnyKeyTheMessageIdDecidesWhetherAnInlineHandlerRuns(TestDatabase fresh) {
    open(fresh);
    Order order = new Order("o-1", "a");

    assertSecondIsARepeat(
        inbox(on(Order.class)),
        Message.of("m-1", order),
        Message.of("m-1", order),
        Message.of("m-2", order));
    assertThat(counts.of(InboxEvent.WithoutKey.class)).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b16_id09_b19_b20_b21_id17_aKeyDecidesWhateverTheIdOfTheMessage(TestDatabase fresh) {
    open(fresh);
    assertSecondIsARepeat(
        inbox(on(Order.class).keyedBy(Order::number)),
        Message.of("m-1", new Order("o-1", "a")),
        Message.of("m-2", new Order("o-1", "b")),
        Message.of("m-1", new Order("o-2", "a")));
    assertSecondIsARepeat(
        inbox(on(Charge.class)),
        Message.of("m-1", new Charge("o-1", "100")),
        Message.of("m-2", new Charge("o-1", "200")),
        Message.of("m-1", new Charge("o-2", "100")));
    assertSecondIsARepeat(
        inbox(on(Ship.class)),
        Message.of("m-1", new Ship("o-1", "soon")),
        Message.of("m-2", new Ship("o-1", "late")),
        Message.of("m-1", new Ship("o-2", "soon")));
    assertSecondIsARepeat(
        inbox(on(Import.class)),
        Message.of("m-1", new Import("erp", "1")),
        Message.of("m-2", new Import("erp", "1")),
        Message.of("m-1", new Import("erp", "2")));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b17_v6_d25_withoutItsKeyNothingRunsAndTheIdDoesNotStandInForIt(TestDatabase fresh) {
    open(fresh);
    IllegalStateException bug = new IllegalStateException("no number");
    Inbox inbox =
        inbox(
            on(Order.class)
                .keyedBy(
                    order -> {
                      if (order.number().equals("throw")) {
                        throw bug;
                      }
                      return order.number().isEmpty() ? null : order.number();
                    }));

    for (String number : List.of("", "  ", "throw")) {
      assertThat(inbox.accept("c", Message.of("m-1", new Order(number, "a"))))
          .isInstanceOfSatisfying(
              Acceptance.Rejected.class,
              it -> assertThat(it.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED));
    }

    assertThat(handled).isEmpty();
    assertThat(counts.of(InboxEvent.Rejected.class, "c")).isEqualTo(3);
    assertThat(database.count("SELECT COUNT(*) FROM " + GuardRig.table(database, "message")))
        .isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b18_withoutItsKeyEveryCopyRunsInlineWhereThatWasAskedFor(TestDatabase fresh) {
    open(fresh);
    Inbox inbox =
        inbox(on(Order.class).keyedBy(order -> null).missingKey(OnMissingKey.ACCEPT_EVERY_COPY));

    for (int copy = 1; copy <= 2; copy++) {
      assertThat(inbox.accept("c", Message.of("m-1", new Order("o-1", "a"))))
          .isInstanceOf(Acceptance.Accepted.class);
      assertThat(handled).hasSize(copy);
      assertThat(counts.of(InboxEvent.WithoutKey.class, "c")).isEqualTo(copy);
    }
  }

  @Test
  void b23_aPropertyThatDoesNotExistRefusesToStartInlineHandlers() {
    open(TestDatabases.open(DatabaseKind.H2));
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> inbox(on(Misspelt.class)))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.BUSINESS_KEY_INVALID))
        .withMessageContaining("'odrer'");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b21_b22_id17_aGuardGoesByTheContentOnlyWhereTheClassSaysSo(TestDatabase fresh) {
    open(fresh);
    try (Guard guard = Guard.on(store).codec(new Lines()).keepReceiptsForEver().build();
        Guard lenient =
            Guard.on(store)
                .codec(new Lines())
                .keepReceiptsForEver()
                .missingKey(OnMissingKey.ACCEPT_EVERY_COPY)
                .build()) {
      assertThat(guard.run(GuardKey.of("h", new Import("erp", "1")), tx -> 1))
          .isEqualTo(new Guarded.Ran<>(1));
      assertThat(guard.run(GuardKey.of("h", new Import("erp", "1")), tx -> 2))
          .isInstanceOf(Guarded.Repeat.class);
      assertThat(guard.run(GuardKey.of("h", new Import("erp", "2")), tx -> 3))
          .isEqualTo(new Guarded.Ran<>(3));

      GuardKey without = GuardKey.of("h", new Order("o-1", "a"));
      assertThatExceptionOfType(MissingKeyException.class)
          .isThrownBy(() -> guard.run(without, tx -> 4))
          .withMessageContaining("Order names none: annotate it with @Idempotent");
      assertThat(lenient.run(without, tx -> 5)).isEqualTo(new Guarded.Ran<>(5));
      assertThat(lenient.run(without, tx -> 6)).isEqualTo(new Guarded.Ran<>(6));
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void d126_eachInlineHandlerHasItsOwnCopyOfTheMessage(TestDatabase fresh) {
    open(fresh);
    List<String> seen = new CopyOnWriteArrayList<>();
    Inbox inbox =
        inbox(
            Channel.named("c")
                .inline()
                .on(byte[].class)
                .handle("spoils", bytes -> Arrays.fill(bytes, (byte) 'x'))
                .handle("reads", bytes -> seen.add(new String(bytes, UTF_8))));
    byte[] sent = "hello".getBytes(UTF_8);

    inbox.accept("c", Message.of("m-1", sent));

    assertThat(seen).containsExactly("hello");
    assertThat(sent).asString(UTF_8).isEqualTo("hello");
  }

  /** Records of texts as lines. */
  private static final class Lines implements StructuredCodec {
    @Override
    public String contentType() {
      return "text/x-lines";
    }

    @Override
    public byte[] encode(Object payload) {
      StringBuilder lines = new StringBuilder();
      try {
        for (var component : payload.getClass().getRecordComponents()) {
          component.getAccessor().setAccessible(true);
          lines.append(component.getAccessor().invoke(payload)).append('\n');
        }
      } catch (ReflectiveOperationException e) {
        throw new IllegalArgumentException(e);
      }
      return lines.toString().getBytes(UTF_8);
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      try {
        var constructor = type.getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        return type.cast(constructor.newInstance(tree(content, contentType).toArray()));
      } catch (ReflectiveOperationException e) {
        throw new IllegalArgumentException(e);
      }
    }

    @Override
    public List<String> tree(byte @Nullable [] content, String contentType) {
      return new String(content, UTF_8).lines().toList();
    }
  }
}
