package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.KeySelector;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.codec.StructuredCodec;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.H2Database;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** What an inbox says when it starts. */
class StartBlockTest {
  private static final String CANARY = "canary-4711";

  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private Level former;

  @BeforeEach
  void listen() {
    former = logger.getLevel();
    logger.setLevel(Level.INFO);
    log.start();
    logger.addAppender(log);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(log);
    logger.setLevel(former);
  }

  /** What was logged so far; threads of the engine may be logging. */
  private List<ILoggingEvent> events() {
    synchronized (log) {
      return List.copyOf(log.list);
    }
  }

  /** The one block, line by line. */
  private List<String> block() {
    List<String> blocks = new ArrayList<>();
    for (ILoggingEvent event : events()) {
      if (event.getFormattedMessage().contains("is running")) {
        assertThat(event.getLevel()).isEqualTo(Level.INFO);
        blocks.add(event.getFormattedMessage());
      }
    }
    assertThat(blocks).hasSize(1);
    return blocks.get(0).lines().toList();
  }

  /** A source that delivers nothing, and says for how long it could. */
  private record Silent(Duration horizon) implements MessageSource {
    @Override
    public String name() {
      return "queue:orders";
    }

    @Override
    public Optional<Duration> repeatHorizon() {
      return Optional.of(horizon);
    }

    @Override
    public void start(Acceptor acceptor) {}

    @Override
    public void pause(String reason) {}

    @Override
    public void resume() {}

    @Override
    public void stop(Duration patience) {}
  }

  private static InboxBuilder inbox(DataSource dataSource, Channel channel, MessageSource... from) {
    return Inbox.on(JdbcStore.of(dataSource)).named("shop").channel(channel, from).lanes(8);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void e32_everythingWorthKnowingIsSaidOnceAndInOrder(TestDatabase database) {
    Schema.migrate(database.dataSource());
    DataSource pool = database.pool(12);
    Inbox before =
        inbox(
                pool,
                Channel.named("orders")
                    .on(String.class)
                    .handle("gone", text -> {})
                    .handle("mail", text -> {})
                    .build())
            .build();
    before.accept("orders", List.of(Message.of("m-1", "x"), Message.of("m-2", "x")));
    before.accept(
        "orders", Message.of("m-3", "x").notBefore(Instant.now().plus(Duration.ofHours(1))));
    try (Guard guard = Guard.on(JdbcStore.of(pool)).named("shop").lanes(8).build()) {
      guard.run(GuardKey.of("guarded", "t", "k"), tx -> 1); // a key, and nothing is open
    }
    Channel orders =
        Channel.named("orders")
            .onConflict(OnConflict.REJECT)
            .unhandled(Unhandled.IGNORE)
            .onMissingId(OnMissingId.ACCEPT_EVERY_COPY)
            .on(String.class)
            .named("order.placed")
            .handle(HandlerKey.of("post").formerly("mail", "letter"), text -> {})
            .handleInTransaction("book", (text, tx) -> {})
            .handle("note", text -> {}, HandlerOption.inline())
            .build();
    Inbox inbox =
        inbox(pool, orders, new Silent(Duration.ofDays(3)))
            .keepReceipts(Duration.ofDays(2))
            .keepPoisoned(Duration.ofDays(30))
            .holdUnknownKeys(Duration.ZERO)
            .build();

    try (RunningInbox running = inbox.start()) {
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }

    List<String> lines = block();
    assertThat(lines.get(0)).isEqualTo("Inbox shop is running");
    assertThat(lines.get(1)).startsWith("  library: Pigeonhole ").contains("on Java ");
    assertThat(lines.get(2)).startsWith("  node: shop@");
    assertThat(lines.get(3))
        .startsWith("  store: " + product(database.kind()) + " ")
        .endsWith(", tables pigeonhole_…");
    assertThat(lines.subList(4, 15))
        .containsExactly(
            "  lanes: 8",
            "  retention: keepReceipts PT48H, keepPoisoned PT720H",
            "  sources:",
            "    queue:orders for channel orders",
            "  handlers:",
            "    post (formerly mail, letter) of channel orders, type order.placed",
            "    book of channel orders, type order.placed, in a transaction",
            "    note of channel orders, type order.placed, inline",
            "  keys in the database that nobody knows:",
            "    gone: 3 open",
            "  unsafe:");
    List<String> unsafe = new ArrayList<>();
    unsafe.add("    channel orders: onConflict(REJECT)");
    unsafe.add("    channel orders: unhandled(IGNORE)");
    unsafe.add("    channel orders: onMissingId(ACCEPT_EVERY_COPY)");
    unsafe.add("    holdUnknownKeys(0)");
    unsafe.add("    keepPoisoned(PT720H)");
    unsafe.add("    PH-CFG-10");
    List<String> said = lines.subList(15, lines.size());
    assertThat(said).hasSameSizeAs(unsafe);
    for (int i = 0; i < unsafe.size(); i++) {
      assertThat(said.get(i)).startsWith(unsafe.get(i));
    }
  }

  @Test
  void everyChoiceByWhichMessagesAreLostOrHandledTwiceIsCalledUnsafe() {
    try (TestDatabase database = H2Database.memory()) {
      Schema.migrate(database.dataSource());
      Channel orders =
          Channel.named("orders")
              .onConflict(OnConflict.REPEAT)
              .onMissingId(OnMissingId.HASH_CONTENT)
              .on(String.class)
              .named("order.placed")
              .keyedBy(text -> text)
              .missingKey(OnMissingKey.ACCEPT_EVERY_COPY)
              .handle("mail", text -> {})
              .on(byte[].class)
              .named("scan")
              .keyedBy(KeySelector.header("number"))
              .missingKey(OnMissingKey.HASH_CONTENT)
              .handle("file", bytes -> {})
              .build();
      inbox(database.pool(12), orders).build().start().close();

      assertThat(block())
          .containsSequence(
              "    channel orders: onConflict(REPEAT): other content or another type under a known id is dropped",
              "    channel orders: onMissingId(HASH_CONTENT): equal content without an id is handled"
                  + " once",
              "    channel orders: type order.placed, missingKey(ACCEPT_EVERY_COPY): every copy"
                  + " without a key is handled",
              "    channel orders: type scan, missingKey(HASH_CONTENT): equal content without a key"
                  + " is handled once");
    }
  }

  @Idempotent
  record Import(String batch) {}

  private static final class NoCodec implements StructuredCodec {
    @Override
    public String contentType() {
      return "text/plain";
    }

    @Override
    public byte[] encode(Object payload) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T decode(byte[] content, String contentType, Class<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Object tree(byte[] content, String contentType) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void aTypeThatGoesByItsContentIsCalledUnsafe() {
    try (TestDatabase database = H2Database.memory()) {
      Schema.migrate(database.dataSource());
      Channel imports =
          Channel.named("imports")
              .on(Import.class)
              .codec(new NoCodec())
              .handle("import", it -> {})
              .build();
      inbox(database.pool(12), imports).build().start().close();

      assertThat(block())
          .contains(
              "    channel imports: type Import, @Idempotent without a key: equal content is"
                  + " handled once");
    }
  }

  @Test
  void whatIsOnlyForTestsIsCalledUnsafe() {
    try (TestDatabase database = H2Database.memory()) {
      Schema.migrate(database.dataSource());
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(12)).clock(InstantSource.system()))
              .channel(Channel.named("orders").on(String.class).handle("mail", text -> {}).build())
              .build();
      inbox.start().close();

      assertThat(block())
          .containsSequence(
              "  unsafe:",
              "    store: a database in memory is gone with its process",
              "    store: clock(…) replaces the clock of the database, which is for tests");
    }
  }

  private static String product(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> "PostgreSQL";
      case MARIADB -> "MariaDB";
      case H2 -> "H2";
    };
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aKeyThatAnotherLivingNodeKnowsIsNotListed(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox old =
          inbox(
                  database.pool(12),
                  Channel.named("orders").on(String.class).handle("old", text -> {}).build())
              .build();
      Inbox fresh =
          inbox(
                  database.pool(12),
                  Channel.named("orders").on(String.class).handle("new", text -> {}).build())
              .build();
      try (RunningInbox first = old.start()) {
        assertThat(block()).contains("  unsafe: none", "  sources: none");
        synchronized (log) {
          log.list.clear();
        }
        try (RunningInbox second = fresh.start()) {
          Eventually.until(Duration.ofMinutes(3), first::healthy);
          Eventually.until(Duration.ofMinutes(3), second::healthy);
        }
      }
      assertThat(block())
          .contains(
              "  retention: everything is kept", "  keys in the database that nobody knows: none");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void e27_nothingInTheLogTellsAPasswordOrContent(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      String user = database.user();
      if (kind == DatabaseKind.MARIADB) {
        user = "role_" + database.schema();
        database.execute("CREATE USER " + user + " IDENTIFIED BY '" + CANARY + "'");
        database.execute("GRANT ALL ON " + database.schema() + ".* TO " + user);
      }
      try (TestDatabase secret = TestDatabase.attach(database.jdbcUrl(), user, CANARY)) {
        Inbox inbox =
            inbox(
                    secret.pool(12),
                    Channel.named("orders").on(String.class).handle("mail", text -> {}).build())
                .build();
        inbox.accept("orders", Message.of("m", "content of " + CANARY));
        inbox.start().close();
      } finally {
        if (kind == DatabaseKind.MARIADB) {
          database.execute("DROP USER " + user);
        }
      }
      assertThat(block()).hasSizeGreaterThan(5);
      assertThat(events())
          .extracting(ILoggingEvent::getFormattedMessage)
          .noneMatch(line -> line.contains(CANARY));
    }
  }
}
