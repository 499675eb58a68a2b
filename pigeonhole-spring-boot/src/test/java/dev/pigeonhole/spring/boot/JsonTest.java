package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.OutboxTemplate;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Whatever is stored as JSON looks as the application's own mapper writes it. */
class JsonTest {

  record Placed(String orderId) {}

  @Test
  void itIsWrittenByTheMapperOfTheApplication() {
    runner()
        .withPropertyValues("spring.jackson.property-naming-strategy=SNAKE_CASE")
        .run(context -> isWrittenAs("{\"order_id\":\"o-1\"}", context));
  }

  @Test
  void itIsWrittenByAMapperOfJackson2WhereThereIsNoOther() {
    runner()
        .withClassLoader(new FilteredClassLoader("tools.jackson"))
        .withBean(ObjectMapper.class, JsonTest::inKebabs)
        .run(context -> isWrittenAs("{\"order-id\":\"o-1\"}", context));
  }

  @Test
  void ofBothThatOfJackson3IsTaken() {
    runner()
        .withPropertyValues("spring.jackson.property-naming-strategy=SNAKE_CASE")
        .withBean(ObjectMapper.class, JsonTest::inKebabs)
        .run(context -> isWrittenAs("{\"order_id\":\"o-1\"}", context));
  }

  private static ObjectMapper inKebabs() {
    return new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.KEBAB_CASE);
  }

  /** Messages, answers and what is to be sent. */
  private static void isWrittenAs(String json, AssertableApplicationContext context) {
    Placed placed = new Placed("o-1");
    Inbox inbox = context.getBean(Inbox.class);
    inbox.accept("orders", Message.of("m-1", placed));
    inbox.drain();
    assertThat(context.getBean(Handling.class).seen).containsExactly(placed);
    GuardKey key = GuardKey.of("place", "order", "o-1");
    context.getBean(GuardTemplate.class).answer(key, Placed.class, tx -> placed);
    new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
        .executeWithoutResult(
            tx -> context.getBean(OutboxTemplate.class).publish(Message.of("m-1", placed)));

    JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
    assertThat(stored(jdbc, "SELECT content FROM \"pigeonhole_message\" WHERE id = 'm-1'"))
        .isEqualTo(json);
    assertThat(stored(jdbc, "SELECT content FROM \"pigeonhole_answer\"")).isEqualTo(json);
    assertThat(stored(jdbc, "SELECT content FROM \"pigeonhole_out_message\"")).isEqualTo(json);
  }

  private static String stored(JdbcTemplate jdbc, String query) {
    List<byte[]> rows = jdbc.query(query, (row, number) -> row.getBytes(1));
    assertThat(rows).as(query).hasSize(1);
    return new String(rows.get(0), StandardCharsets.UTF_8);
  }

  private static ApplicationContextRunner runner() {
    return AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues(
            "pigeonhole.outbox.enabled=true", "pigeonhole.outbox.background-processing=false");
  }

  @Configuration(proxyBeanMethods = false)
  static class Handling {
    final List<Placed> seen = new CopyOnWriteArrayList<>();

    @InboxHandler(channel = "orders", key = "see")
    void see(Placed placed) {
      seen.add(placed);
    }

    @Bean
    OutboxCustomizer routes() {
      return outbox -> outbox.route(Placed.class, new Nowhere());
    }
  }
}
