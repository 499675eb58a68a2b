package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.support.JavaProcess;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;

/** What somebody reads when his application does not start. */
@ExtendWith(OutputCaptureExtension.class)
class FailureTest {
  /** It logs a stack when it cannot connect, before anybody else hears of it. */
  private static final String HIKARI_IS_SILENT = "logging.level.com.zaxxer.hikari=off";

  record Order(String id) {}

  @Test
  void d79_unknownPropertiesAreRefusedWithWhatWasMeant(CapturedOutput output) {
    assertThat(report(output, Handling.class, "pigeonhole.inbox.dead-afer=9s"))
        .contains("PH-SPR-04: the property pigeonhole.inbox.dead-afer does not exist")
        .contains("Did you mean pigeonhole.inbox.dead-after?");
  }

  @Test
  void unknownPropertiesOfAFileAreRefusedWithTheirPlace(
      CapturedOutput output, @TempDir Path directory) throws IOException {
    Path file = directory.resolve("shop.properties");
    Files.writeString(file, "spring.application.name=shop\npigeonhole.inbox.dead-afer=9s\n");
    assertThat(report(output, Handling.class, "spring.config.additional-location=" + file.toUri()))
        .containsPattern(
            "PH-SPR-04: the property pigeonhole.inbox.dead-afer does not exist"
                + " \\(.*shop\\.properties.* - 2:\\d+\\)")
        .contains("Did you mean pigeonhole.inbox.dead-after?");
  }

  @Test
  void unknownPropertiesOfTheJvmAreRefused(CapturedOutput output) {
    String printed =
        TestPropertyValues.of("pigeonhole.inbox.dead-afer=9s", "pigeonhole.version=1")
            .applyToSystemProperties(() -> report(output, Handling.class));
    assertThat(printed)
        .contains("PH-SPR-04: the property pigeonhole.inbox.dead-afer does not exist")
        .contains("systemProperties")
        .contains("Did you mean pigeonhole.inbox.dead-after?")
        .doesNotContain("pigeonhole.version");
  }

  @Test
  void propertiesOfTheJvmThatExistAreTaken() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withSystemProperties(
            "pigeonhole.inbox.name=shop",
            "pigeonhole.inbox.deadAfter=9s",
            "pigeonhole.handlers.see.retry.max-attempts=2",
            "pigeonhole.build.number=7")
        .run(
            context -> {
              assertThat(context.getBean(Inbox.class).name()).isEqualTo("shop");
              assertThat(context.getBean(PigeonholeProperties.class).inbox().deadAfter())
                  .hasSeconds(9);
            });
  }

  @Test
  void wordsThatWereReplacedAreRefusedWithTheNewOnes(CapturedOutput output) {
    assertThat(report(output, Handling.class, "pigeonhole.inbox.max-retries=3"))
        .contains("It is pigeonhole.inbox.retry.max-attempts now");
  }

  @Test
  void variablesOfTheEnvironmentBelongToOthersAsWell() {
    StandardEnvironment environment = new StandardEnvironment();
    environment
        .getPropertySources()
        .replace(
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
            new org.springframework.core.env.SystemEnvironmentPropertySource(
                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                Map.of(
                    "PIGEONHOLE_URL", "http://elsewhere",
                    "PIGEONHOLE_INBOX_X", "1",
                    "PIGEONHOLE_INBOX_NAME", "shop",
                    "SPRING_LIQUIBASE_ENABLED", "false")));
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withInitializer(context -> context.setEnvironment(environment))
        .run(context -> assertThat(context.getBean(Inbox.class).name()).isEqualTo("shop"));
  }

  @Test
  void valuesOutOfRangeAreToldAllTogether(CapturedOutput output) {
    assertThat(
            report(
                output,
                Handling.class,
                "pigeonhole.inbox.beat=2s",
                "pigeonhole.inbox.dead-after=5s",
                "pigeonhole.inbox.lanes=0",
                "pigeonhole.jdbc.table-prefix=a-b",
                "pigeonhole.inbox.retention.keep-receipts=0s",
                "pigeonhole.outbox.send-timeout=0s",
                "pigeonhole.handlers.see.retry.max-attempts=0"))
        .contains("Pigeonhole cannot start, for 6 reasons:")
        .contains(
            "PH-CFG-01: pigeonhole.inbox.dead-after is 5s, and pigeonhole.inbox.beat is 2s: a node"
                + " that misses one beat would be taken for dead. Make dead-after at least three"
                + " beats, 6s.")
        .contains("PH-CFG-05: pigeonhole.inbox.lanes is 0. Use 1 to 4,096.")
        .contains("PH-CFG-06: pigeonhole.jdbc.table-prefix: ")
        .contains("PH-RET-01: pigeonhole.inbox.retention.keep-receipts is 0ms. Use 1s to 36500d.")
        .contains("PH-CFG-02: pigeonhole.outbox.send-timeout is 0ms. Use 1ms to 3600s.")
        .contains("PH-CFG-03: pigeonhole.handlers.see.retry.max-attempts is 0.");
  }

  @Test
  void missingTablesNameThePropertyThatMakesThem(CapturedOutput output) {
    assertThat(report(output, Handling.class, "pigeonhole.jdbc.initialize-schema=never"))
        .contains("PH-DB-02: There are no tables pigeonhole_…")
        .contains("Set pigeonhole.jdbc.initialize-schema=always");
  }

  @Test
  void aPoolThatIsTooSmallNamesItsProperty(CapturedOutput output) {
    assertThat(
            report(
                output,
                Transactional1.class,
                "pigeonhole.inbox.concurrency=8",
                "spring.datasource.hikari.maximum-pool-size=10"))
        .contains("PH-CFG-09: The pool has 10 connections and the inbox may hold 12 at once")
        .contains("spring.datasource.hikari.maximum-pool-size");
  }

  @Test
  void handlersWithoutKeyOrWithTheSameAreNamed(CapturedOutput output) {
    assertThat(report(output, Keys.class))
        .contains("PH-KEY-01: Handler method blank(Order)")
        .contains("PH-KEY-02: The handler key 'same' is used by")
        .contains("one(Order)")
        .contains("two(Order)");
  }

  @Test
  void aFormerKeyThatIsTakenIsNamed(CapturedOutput output) {
    assertThat(report(output, FormerKeys.class))
        .contains("PH-KEY-03: The former key 'old' of ")
        .contains("one(Order)")
        .contains("two(Order)");
  }

  @Test
  void aHandlerWithoutInboxNamesThePropertyThatGivesItOne(CapturedOutput output) {
    assertThat(
            report(
                output,
                Keyed.class,
                "pigeonhole.inboxes.shop.channels=orders",
                "pigeonhole.inboxes.parcels.channels=parcels",
                "pigeonhole.inboxes.parcels.table-prefix=second_"))
        .contains("PH-CFG-08: Handler method third(Order)")
        .contains("no inbox has taken its channel 'elsewhere'")
        .contains("Name the channel in pigeonhole.inboxes.<name>.channels");
  }

  @Test
  void tablesOfANewerLibraryAreNotMigrated(CapturedOutput output) throws Exception {
    String url = "jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(UUID.randomUUID());
    Schema.ofDefaults().applyTo(new DriverManagerDataSource(url, "sa", ""));
    try (Connection connection = DriverManager.getConnection(url, "sa", "");
        Statement statement = connection.createStatement()) {
      statement.execute(
          "UPDATE \"pigeonhole_schema_history\" SET version = 999 WHERE version ="
              + " (SELECT max(version) FROM \"pigeonhole_schema_history\")");
    }
    String printed =
        report(
            output,
            Handling.class,
            "spring.datasource.url=" + url,
            "pigeonhole.jdbc.initialize-schema=never");
    assertThat(printed)
        .contains("PH-DB-20: The tables have version 999, and this library only knows")
        .contains("Use the newer library")
        .doesNotContain("initialize-schema=always");
  }

  @Test
  void aModeThatDoesNotExistNamesThoseThatDo(CapturedOutput output) {
    assertThat(report(output, Handling.class, "pigeonhole.channels.orders.mode=direct"))
        .contains("pigeonhole.channels.orders.mode")
        .contains("INLINE")
        .contains("STORED");
  }

  @Test
  void aPayloadThatIsNoClassIsNamed(CapturedOutput output) {
    assertThat(report(output, NoPayload.class)).contains("PH-SPR-01: Handler method nothing()");
  }

  @Test
  void d80_severalDataSourcesAskForAMark(CapturedOutput output) {
    assertThat(report(output, TwoDataSources.class))
        .contains("PH-SPR-03: There are 2 beans of DataSource: one, two.")
        .contains("@PigeonholeDataSource");
  }

  @Test
  void jd03_aTransactionManagerOfAnotherDataSourceIsRefused(CapturedOutput output) {
    assertThat(report(output, ForeignManager.class))
        .contains("PH-TX-10: The transaction manager of an inbox: ")
        .contains("@PigeonholeTransactionManager");
  }

  @Test
  void aTransportWhoseConnectionIsMissingNamesTheStarter(CapturedOutput output) {
    assertThat(
            report(
                output,
                Handling.class,
                "pigeonhole.channels.orders.transport=rabbitmq",
                "spring.autoconfigure.exclude="
                    + "org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration,"
                    + "org.springframework.boot.amqp.autoconfigure.health.RabbitHealthContributorAutoConfiguration"))
        .contains("PH-SPR-05: Channel 'orders': its transport is rabbitmq")
        .contains("from Spring Boot 4.2 on: spring-boot-starter-rabbitmq");
  }

  @Test
  void namesOfHandlersAndChannelsThatDoNotExistAreRefused(CapturedOutput output) {
    assertThat(
            report(
                output,
                Handling.class,
                "pigeonhole.channels.order.mode=inline",
                "pigeonhole.handlers.sea.timeout=3s"))
        .contains("PH-CFG-17: A source: there is no channel 'order'. Known are: orders.")
        .contains("PH-KEY-06: There are options for the handler key 'sea'")
        .contains("Known are: see.");
  }

  @Test
  void optionsOfAHandlerThatIsBuiltStandInItsCode(CapturedOutput output) {
    assertThat(report(output, BuiltChannel.class, "pigeonhole.handlers.built.timeout=3s"))
        .contains("PH-KEY-06: There are options for the handler key 'built', which no method with")
        .contains("Handlers of a bean of Channel or ChannelBuilder have their options in its code");
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "embedded", "never"})
  void aDatabaseThatIsAwayNamesItsProperty(String mode, CapturedOutput output) {
    assertThat(
            report(
                output,
                Handling.class,
                HIKARI_IS_SILENT,
                "spring.datasource.url=jdbc:postgresql://127.0.0.1:1/shop",
                "pigeonhole.jdbc.initialize-schema=" + mode))
        .contains("PH-DB-01: There is no connection to the database.")
        .contains("Look at spring.datasource.url, and whether the database runs.");
  }

  /** Somebody has started the application twice. */
  @ParameterizedTest
  @ValueSource(strings = {"always", "embedded"})
  void aFileThatAnotherProcessHoldsIsNamed(
      String mode, CapturedOutput output, @TempDir Path directory) {
    String url = "jdbc:h2:file:" + directory.resolve("shop");
    try (JavaProcess other = JavaProcess.of(Holder.class).args(url).start()) {
      other.awaitLine("held", Duration.ofMinutes(2));
      assertThat(
              report(
                  output,
                  Handling.class,
                  HIKARI_IS_SILENT,
                  "spring.datasource.url=" + url,
                  "pigeonhole.jdbc.initialize-schema=" + mode))
          .contains("PH-DB-06: Another process has this H2 file open")
          .contains("End the application that is still running");
    }
  }

  @Test
  void aPayloadThatNothingCanWriteNamesWhatToAdd(CapturedOutput output) {
    Thread thread = Thread.currentThread();
    ClassLoader usual = thread.getContextClassLoader();
    thread.setContextClassLoader(
        new FilteredClassLoader(
            name ->
                name.startsWith("dev.pigeonhole.jackson.")
                    || name.equals("META-INF/services/" + PayloadCodec.class.getName())));
    try {
      assertThat(report(output, Handling.class))
          .contains("PH-PAY-05: There is no codec for")
          .contains("Add pigeonhole-jackson and spring-boot-starter-jackson")
          .contains("PH-PAY-05 is explained in docs/errors.md.");
    } finally {
      thread.setContextClassLoader(usual);
    }
  }

  @Test
  void aDatabaseThatIsNotSupportedIsNamed(CapturedOutput output) {
    assertThat(report(output, AnotherProduct.class, "pigeonhole.jdbc.initialize-schema=always"))
        .contains("PH-DB-03: The database is 'Oracle'. Supported are PostgreSQL 14")
        .contains("Use PostgreSQL, MariaDB or H2 for the DataSource of Pigeonhole");
  }

  @Test
  void aNameThatCannotBeStoredIsRefused(CapturedOutput output) {
    assertThat(report(output, Handling.class, "pigeonhole.inbox.name=a b")).contains("PH-KEY-05");
  }

  /** What it has is not known before it is made, and then it is too late for an inbox. */
  @Test
  void aHandlerWhoseBeanHidesItIsRefused(CapturedOutput output) {
    assertThat(report(output, ByInterface.class, "pigeonhole.channels.orders.mode=inline"))
        .contains("PH-SPR-01: The bean 'stock' is a dev.pigeonhole.spring.boot.FailureTest$Stock")
        .contains("Declare the bean with its class.")
        .doesNotContain("PH-CFG-17");
  }

  @Test
  void aHandlerWhoseBeanHidesItIsRefusedBesideOthersToo(CapturedOutput output) {
    assertThat(report(output, ByInterfaceBesideOthers.class))
        .contains("PH-SPR-01: Handler method placed(Order) of dev.pigeonhole.spring.boot.")
        .contains("Declare the bean with its class.");
  }

  /** Health and the endpoint would take one for the other. */
  @Test
  void anInboxAndAnOutboxOfOneNameAreRefused(CapturedOutput output) {
    assertThat(
            report(
                output,
                Publishing.class,
                "pigeonhole.inbox.name=shop",
                "pigeonhole.outbox.enabled=true",
                "pigeonhole.outbox.name=shop"))
        .contains("PH-SPR-03: Two have the name 'shop': an inbox and an outbox.")
        .contains("pigeonhole.inbox.name")
        .contains("pigeonhole.outbox.name");
  }

  @Test
  void beansOfOneNameAreRefused(CapturedOutput output) {
    assertThat(report(output, OutboxNamedInbox.class, "pigeonhole.outbox.enabled=true"))
        .contains("PH-SPR-03: Two have the name 'inbox': an inbox and an outbox.")
        .contains("PH-SPR-03 is explained in docs/errors.md.");
  }

  @Test
  void aBuiltChannelIsNotChangedByProperties(CapturedOutput output) {
    assertThat(report(output, BuiltChannel.class, "pigeonhole.channels.built.mode=inline"))
        .contains("PH-CFG-16: pigeonhole.channels.built: its mode,");
  }

  @Test
  void whatIsInlineInCodeIsNotStoredByAProperty(CapturedOutput output) {
    assertThat(
            report(
                output,
                InlineInCode.class,
                "pigeonhole.channels.orders.mode=stored",
                "pigeonhole.channels.parcels.mode=stored",
                "pigeonhole.channels.letters.mode=stored"))
        .contains("PH-CFG-16: pigeonhole.channels.orders.mode is stored, and its bean of")
        .contains("PH-CFG-16: pigeonhole.channels.parcels.mode is stored, and its bean of")
        .contains(
            "PH-CFG-16: pigeonhole.channels.letters.mode is stored, and the handler 'post' says"
                + " inline = true.");
  }

  @Test
  void aBugOfSomebodyKeepsItsStack() {
    assertThat(
            new PigeonholeFailureAnalyzer()
                .analyze(new InboxException(ErrorCode.HANDLER_FAILED, "A bug of somebody.")))
        .isNull();
  }

  /** What is printed, without a stack. */
  private static String report(CapturedOutput output, Class<?> application, String... more) {
    List<String> arguments = new ArrayList<>();
    for (String each : more) {
      arguments.add("--" + each);
    }
    Throwable thrown =
        catchThrowable(
            () ->
                new SpringApplicationBuilder(application)
                    .web(WebApplicationType.NONE)
                    .properties(
                        "spring.datasource.url=jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1"
                            .formatted(UUID.randomUUID()),
                        "spring.flyway.enabled=false",
                        "spring.liquibase.enabled=false")
                    .run(arguments.toArray(String[]::new))
                    .close());
    assertThat(thrown).isNotNull();
    String printed = output.toString();
    assertThat(printed).contains("APPLICATION FAILED TO START").doesNotContain("\tat ");
    return printed;
  }

  /** Holds a file of H2 until it is killed. */
  static final class Holder {
    public static void main(String[] arguments) throws Exception {
      try (Connection connection = DriverManager.getConnection(arguments[0], "sa", "")) {
        System.out.println(connection.isValid(0) ? "held" : "not held");
        new CountDownLatch(1).await();
      }
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Handling {
    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Transactional1 {
    @InboxHandler(channel = "orders", key = "see")
    @Transactional
    public void see(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Keys {
    @InboxHandler(channel = "orders", key = "")
    void blank(Order order) {}

    @InboxHandler(channel = "orders", key = "same")
    void one(Order order) {}

    @InboxHandler(channel = "orders", key = "same")
    void two(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class FormerKeys {
    @InboxHandler(channel = "orders", key = "one", formerly = "old")
    void one(Order order) {}

    @InboxHandler(channel = "orders", key = "two", formerly = "old")
    void two(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Keyed {
    @InboxHandler(channel = "orders", key = "first")
    void first(Order order) {}

    @InboxHandler(channel = "parcels", key = "second")
    void second(Order order) {}

    @InboxHandler(channel = "elsewhere", key = "third")
    void third(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class NoPayload {
    @InboxHandler(channel = "orders", key = "see")
    void nothing() {}
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoDataSources extends Handling {
    @Bean
    DataSource one() {
      return new DriverManagerDataSource("jdbc:h2:mem:one;DB_CLOSE_DELAY=-1");
    }

    @Bean
    DataSource two() {
      return new DriverManagerDataSource("jdbc:h2:mem:two;DB_CLOSE_DELAY=-1");
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class ForeignManager extends Handling {
    @Bean
    @Primary
    DataSource ours() {
      return new DriverManagerDataSource("jdbc:h2:mem:ours;DB_CLOSE_DELAY=-1");
    }

    @Bean
    PlatformTransactionManager foreign() {
      return new JdbcTransactionManager(
          new DriverManagerDataSource("jdbc:h2:mem:foreign;DB_CLOSE_DELAY=-1"));
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class InlineInCode extends Handling {
    @Bean
    ChannelBuilder orders() {
      return Channel.named("orders").inline();
    }

    @Bean
    ChannelBuilder parcels() {
      ChannelBuilder parcels = Channel.named("parcels");
      parcels.on(Order.class).handle("pack", each -> {}, HandlerOption.inline());
      return parcels;
    }

    @InboxHandler(channel = "letters", key = "post", inline = true)
    void post(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class BuiltChannel extends Handling {
    @Bean
    Channel built() {
      return Channel.named("built").on(String.class).handle("built", each -> {}).build();
    }
  }

  interface OrderEvents {
    void placed(Order order);
  }

  static class Stock implements OrderEvents {
    @Override
    @InboxHandler(channel = "orders", key = "reserve")
    public void placed(Order order) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class ByInterface {
    @Bean
    OrderEvents stock() {
      return new Stock();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class ByInterfaceBesideOthers extends Handling {
    @Bean
    OrderEvents stock(Inbox inbox) {
      return new Stock();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class OutboxNamedInbox extends Handling {
    @Bean
    Outbox outbox(JdbcStore store) {
      return Outbox.on(store).named("inbox").route(Order.class, new Nowhere()).build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Publishing extends Handling {
    @Bean
    OutboxCustomizer routes() {
      return outbox -> outbox.route(Order.class, new Nowhere());
    }
  }

  /** A database of another kind, as far as a start looks at it. */
  @Configuration(proxyBeanMethods = false)
  static class AnotherProduct extends Handling {
    @Bean
    DataSource dataSource() {
      return new DelegatingDataSource(
          new DriverManagerDataSource("jdbc:h2:mem:%s".formatted(UUID.randomUUID()))) {
        @Override
        public Connection getConnection() throws SQLException {
          return (Connection) answering(super.getConnection(), Connection.class);
        }
      };
    }

    private static Object answering(Object real, Class<?> type) {
      return Proxy.newProxyInstance(
          type.getClassLoader(),
          new Class<?>[] {type},
          (self, method, arguments) -> {
            if (method.getName().equals("getDatabaseProductName")) {
              return "Oracle";
            }
            Object answer = method.invoke(real, arguments);
            return answer instanceof DatabaseMetaData
                ? answering(answer, DatabaseMetaData.class)
                : answer;
          });
    }
  }
}
