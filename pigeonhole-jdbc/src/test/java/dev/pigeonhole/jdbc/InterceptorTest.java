package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class InterceptorTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whatAnInterceptorThrowsRollsBackTheTransactionThatItStandsIn(TestDatabase database) {
    InboxTables.in(database);
    database.execute("CREATE TABLE effect (id int)");
    AtomicInteger attempts = new AtomicInteger();
    Channel channel =
        Channel.named("texts")
            .on(String.class)
            .handleInTransaction(
                "write",
                (text, tx) -> {
                  try (Statement insert = tx.connection().createStatement()) {
                    insert.executeUpdate("INSERT INTO effect VALUES (1)");
                  }
                },
                HandlerOption.retrying(RetryPolicy.fixed(Duration.ofMillis(1))))
            .build();
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(16)))
            .channel(channel)
            .around(
                (received, next) -> {
                  next.proceed();
                  if (attempts.incrementAndGet() < 3) {
                    throw new IllegalStateException("after the write");
                  }
                })
            .build();
    try (RunningInbox running = inbox.start()) {
      inbox.accept("texts", Message.of("m", "x"));
      Eventually.until(
          "a receipt",
          Duration.ofMinutes(5),
          () -> inbox.admin().counts().get(0).completed().value() == 1);
    }

    assertThat(attempts).hasValue(3);
    assertThat(database.count("SELECT count(*) FROM effect")).isEqualTo(1);
  }
}
