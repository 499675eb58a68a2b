package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.Schema;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.ReflectionHintsPredicates;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceInitializationAutoConfiguration;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;

/** Tables of others come first, and what is processed ahead of time can be. */
class SchemaOrderTest {

  @Test
  void tablesThatFlywayMakesAreThereBeforeTheInbox(@TempDir Path scripts) throws IOException {
    Files.writeString(scripts.resolve("V1__pigeonhole.sql"), Schema.ofDefaults().sql("h2"));
    AutoConfigurationTest.runner()
        .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withPropertyValues(
            "pigeonhole.jdbc.initialize-schema=never",
            "spring.flyway.locations=filesystem:" + scripts)
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Inbox.class));
  }

  @Test
  void ourTablesComeAfterThoseOfFlyway(@TempDir Path scripts) throws IOException {
    Files.writeString(scripts.resolve("V1__shop.sql"), "CREATE TABLE shop (id INT);");
    AutoConfigurationTest.runner()
        .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withPropertyValues("spring.flyway.locations=filesystem:" + scripts)
        .run(
            context -> {
              assertThat(context).as("Flyway refuses a schema that is not empty").hasNotFailed();
              assertThat(
                      context
                          .getBeanFactory()
                          .getBeanDefinition("pigeonholeSchemaInitializer")
                          .getDependsOn())
                  .contains("flywayInitializer");
            });
  }

  @Test
  void tablesThatLiquibaseMakesAreThereBeforeTheInbox(@TempDir Path scripts) throws IOException {
    Path changes = changes(scripts, Schema.ofDefaults().sql("h2"));
    AutoConfigurationTest.runner()
        .withConfiguration(AutoConfigurations.of(LiquibaseAutoConfiguration.class))
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withPropertyValues(
            "pigeonhole.jdbc.initialize-schema=never",
            "spring.liquibase.enabled=true",
            "spring.liquibase.change-log=file:" + changes)
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Inbox.class));
  }

  @Test
  void ourTablesComeAfterThoseOfLiquibase(@TempDir Path scripts) throws IOException {
    // It refuses where ours are there already.
    Path changes =
        changes(
            scripts,
            "CREATE TABLE \"pigeonhole_message\" (id INT);\nDROP TABLE \"pigeonhole_message\";\n");
    AutoConfigurationTest.runner()
        .withConfiguration(AutoConfigurations.of(LiquibaseAutoConfiguration.class))
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withPropertyValues(
            "spring.liquibase.enabled=true", "spring.liquibase.change-log=file:" + changes)
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Inbox.class));
  }

  @Test
  void tablesThatAScriptMakesAreThereBeforeTheInbox(@TempDir Path scripts) throws IOException {
    Path schema = Files.writeString(scripts.resolve("s.sql"), Schema.ofDefaults().sql("h2"));
    AutoConfigurationTest.runner()
        .withConfiguration(AutoConfigurations.of(DataSourceInitializationAutoConfiguration.class))
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withPropertyValues(
            "pigeonhole.jdbc.initialize-schema=never",
            "spring.sql.init.schema-locations=file:" + schema)
        .run(
            context -> {
              assertThat(context).hasNotFailed().hasSingleBean(Inbox.class);
              for (String ours :
                  new String[] {"pigeonholeSchemaInitializer", "pigeonholeJdbcStore"}) {
                assertThat(context.getBeanFactory().getBeanDefinition(ours).getDependsOn())
                    .contains("dataSourceScriptDatabaseInitializer");
              }
            });
  }

  private static Path changes(Path directory, String sql) throws IOException {
    Path changes = directory.resolve("changes.sql");
    return Files.writeString(changes, "--liquibase formatted sql\n--changeset shop:1\n" + sql);
  }

  @Test
  void anImageHoldsTheStatementsThatMakeTables() {
    RuntimeHints hints = new RuntimeHints();
    new PigeonholeRuntimeHints().registerHints(hints, null);
    assertThat(
            RuntimeHintsPredicates.resource()
                .forResource("pigeonhole/jdbc/schema/postgresql/V001__tables.sql"))
        .accepts(hints);
  }

  @Test
  void anApplicationCanBeProcessedAheadOfTime() {
    InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
    RuntimeHints hints = processed(files, "pigeonhole.outbox.enabled=true");

    assertThat(files.getGeneratedFiles(GeneratedFiles.Kind.SOURCE).keySet())
        .anyMatch(each -> each.endsWith("boot/PigeonholeAutoConfiguration__BeanDefinitions.java"))
        .anyMatch(
            each -> each.endsWith("boot/PigeonholeOutboxAutoConfiguration__BeanDefinitions.java"));
    assertThat(
            RuntimeHintsPredicates.resource()
                .forResource("pigeonhole/jdbc/schema/h2/V001__tables.sql"))
        .accepts(hints);
  }

  /** They are called, and their payloads and answers read and written, by reflection. */
  @Test
  void anImageHoldsHandlersAndGuardedMethodsWithWhatTheyTakeAndReturn() {
    RuntimeHints hints =
        processed(new InMemoryGeneratedFiles(), "pigeonhole.inbox.background-processing=false");
    ReflectionHintsPredicates reflection = RuntimeHintsPredicates.reflection();

    assertThat(reflection.onMethodInvocation(Shop.Stock.class, "reserve")).accepts(hints);
    assertThat(reflection.onMethodInvocation(Shop.Orders.class, "charge")).accepts(hints);
    assertThat(reflection.onMethodInvocation(Shop.Order.class, "id")).accepts(hints);
    assertThat(reflection.onMethodInvocation(Shop.Receipt.class, "number")).accepts(hints);
  }

  @Test
  void anApplicationOfSeveralInboxesCanBeProcessedAheadOfTime() {
    InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
    processed(files, "pigeonhole.inboxes.shop.lanes=8");

    assertThat(files.getGeneratedFiles(GeneratedFiles.Kind.SOURCE).keySet())
        .anyMatch(each -> each.endsWith("boot/InboxesConfiguration__BeanDefinitions.java"));
  }

  private static RuntimeHints processed(InMemoryGeneratedFiles files, String property) {
    DefaultGenerationContext generation =
        new DefaultGenerationContext(
            new ClassNameGenerator(ClassName.get("dev.pigeonhole.spring.boot", "Shop")), files);
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      TestPropertyValues.of(
              "spring.datasource.url=jdbc:h2:mem:aot",
              "spring.flyway.enabled=false",
              "spring.liquibase.enabled=false",
              property)
          .applyTo(context);
      context.register(Shop.class);
      new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
    }
    generation.writeGeneratedContent();
    return generation.getRuntimeHints();
  }
}
