package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A primary that becomes a replica under a running inbox, and the other way round. */
@Timeout(600)
class DemotedServerTest {
  private volatile boolean demoted;
  private final AtomicInteger refused = new AtomicInteger();

  /** Really refuses to write while it is demoted: every session is told to be read-only. */
  private DataSource demotable(TestDatabase database) {
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    return Pretending.twisted(
        database.dataSource(),
        call -> {
          if (call.name().equals("prepareStatement")) {
            try (Statement statement = call.connection().createStatement()) {
              if (postgres && demoted) {
                statement.execute("SET default_transaction_read_only = on");
                statement.execute("SET transaction_read_only = on");
              } else if (postgres) {
                statement.execute("SET default_transaction_read_only = off");
              } else {
                statement.execute(
                    "SET SESSION TRANSACTION " + (demoted ? "READ ONLY" : "READ WRITE"));
              }
            } catch (SQLException e) {
              refused.incrementAndGet(); // in a transaction that has failed already
            }
          }
          return call.go();
        });
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void dur09_aServerThatBecomesReadOnlyIsNobodysFailure(TestDatabase database) throws Exception {
    Schema.migrate(database.dataSource());
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  inside.countDown();
                  goOn.await();
                })
            .build();
    Inbox inbox =
        Inbox.on(JdbcStore.of(demotable(database)))
            .channel(channel)
            .beat(Duration.ofMillis(200))
            .deadAfter(Duration.ofSeconds(60))
            .restartDelay(Duration.ofMillis(50))
            .build();
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m-1", "x"));
      inside.await();
      demoted = true;
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> inbox.accept("c", Message.of("m-2", "x")))
          .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT));
      goOn.countDown(); // what it did cannot be written down now
      assertThat(view(inbox, "m-1").state()).isEqualTo(DeliveryState.PENDING);

      demoted = false;
      inbox.accept("c", Message.of("m-2", "x"));
      Eventually.passes(
          Duration.ofMinutes(5),
          () -> {
            for (String id : new String[] {"m-1", "m-2"}) {
              assertThat(view(inbox, id).state()).isEqualTo(DeliveryState.COMPLETED);
              assertThat(view(inbox, id).failures()).isZero();
            }
          });
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    } finally {
      demoted = false;
      goOn.countDown();
    }
  }

  private static DeliveryView view(Inbox inbox, String id) {
    return inbox.find("c", id, "h").orElseThrow();
  }
}
