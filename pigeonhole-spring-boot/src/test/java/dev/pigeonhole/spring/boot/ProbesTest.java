package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What an orchestrator is told while the database is away. */
class ProbesTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String HOUSEKEEPING = "com.zaxxer.hikari.housekeeping.periodMs";

  /** To start it anew would not bring the database back, and would lose what is under way. */
  @Test
  void op03_anApplicationWithoutItsDatabaseIsAliveAndNotReady() throws Exception {
    // A pool reads its settings again once in such a period, and otherwise every 30 s.
    System.setProperty(HOUSEKEEPING, "500");
    try (FaultProxy proxy = FaultProxy.to(TestDatabases.server(DatabaseKind.POSTGRES));
        TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        WebApp app =
            WebApp.run(
                database.through(proxy),
                ActuatorTest.Handling.class,
                "management.endpoint.health.probes.enabled=true",
                "management.endpoint.health.group.readiness.include=readinessState,pigeonhole")) {
      assertThat(app.get("health/liveness").statusCode()).isEqualTo(200);
      Eventually.until(LONG, () -> app.get("health/readiness").statusCode() == 200);

      app.bean(HikariDataSource.class).setConnectionTimeout(500); // to start may take longer
      proxy.refuse(true);
      proxy.cut();
      Eventually.until(LONG, () -> app.get("health/readiness").statusCode() == 503);
      assertThat(app.get("health/liveness").body()).contains("\"status\":\"UP\"");

      proxy.refuse(false);
      Eventually.until(LONG, () -> app.get("health/readiness").statusCode() == 200);
    } finally {
      System.clearProperty(HOUSEKEEPING);
    }
  }
}
