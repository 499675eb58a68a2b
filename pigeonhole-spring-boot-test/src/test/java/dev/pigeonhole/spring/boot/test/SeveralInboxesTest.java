package dev.pigeonhole.spring.boot.test;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.RepeatedTest;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.context.ActiveProfiles;

/** An application with several inboxes under test, whatever each of them says of itself. */
@SpringBootTest(classes = SeveralInboxesTest.Several.class)
@ActiveProfiles("several")
@AutoConfigureInbox
@AutoConfigureTestDatabase
class SeveralInboxesTest {
  @Autowired TestInbox shop;
  @Autowired TestInbox parcels;
  @Autowired Outbox outbox;
  @Autowired List<PigeonholeLifecycle> lifecycles;
  @Autowired DataSource database;

  /** Whatever the one before has left, this one does not see: the second fails if it does. */
  @RepeatedTest(2)
  void eachIsInHandAndInTablesOfTheTestAndIsEmptied() throws SQLException {
    assertThat(shop.deliveries()).isEmpty();
    assertThat(parcels.deliveries()).isEmpty();
    assertThat(outbox.admin().messages().count()).isEqualTo(Count.of(0));
    assertThat(lifecycles).hasSize(2).noneMatch(PigeonholeLifecycle::isRunning);

    assertThat(shop.receive("orders", Message.of("m-1", "o-1")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(parcels.receive("parcels", Message.of("m-1", "p-1")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(shop.drain()).isEqualTo(1);
    publish(Message.of("o-1", "placed"));
    assertThat(outbox.admin().messages().count()).isEqualTo(Count.of(1));

    assertThat(
            new JdbcTemplate(database)
                .queryForList(
                    "SELECT table_name FROM information_schema.tables"
                        + " WHERE table_name LIKE '%message'",
                    String.class))
        .containsExactlyInAnyOrder(
            "pigeonhole_test_shop_message",
            "pigeonhole_test_shop_out_message",
            "pigeonhole_test_parcel_service_message",
            "pigeonhole_test_parcel_service_out_message");
  }

  private void publish(Message message) throws SQLException {
    try (Connection connection = database.getConnection()) {
      connection.setAutoCommit(false);
      outbox.publish(connection, message);
      connection.commit();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Several {
    @InboxHandler(channel = "orders", key = "reserve")
    void reserve(String order) {}

    @InboxHandler(channel = "parcels", key = "send")
    void send(String parcel) {}

    @Bean
    TestInbox shop(@Qualifier("shopInbox") Inbox inbox, TestClock clock) {
      return TestInbox.around(() -> inbox, clock);
    }

    @Bean
    TestInbox parcels(@Qualifier("parcelServiceInbox") Inbox inbox, TestClock clock) {
      return TestInbox.around(() -> inbox, clock);
    }

    @Bean
    Outbox outbox(@Qualifier("shopInboxStore") JdbcStore store, PayloadCodec codec) {
      return Outbox.on(store)
          .named("shop-out")
          .codec(codec)
          .route(String.class, MemoryQueue.named("placed").transport())
          .build();
    }
  }
}
