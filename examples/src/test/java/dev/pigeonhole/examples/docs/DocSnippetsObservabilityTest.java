package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.micrometer.GaugeOptions;
import dev.pigeonhole.micrometer.InboxMetrics;
import dev.pigeonhole.micrometer.OutboxMetrics;
import dev.pigeonhole.micrometer.ProcessObservations;
import dev.pigeonhole.micrometer.RelayObservations;
import dev.pigeonhole.micrometer.StoredTraces;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.transport.Transport;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationHandler.FirstMatchingCompositeObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.propagation.Propagator;
import java.sql.Connection;
import java.time.Duration;
import java.util.concurrent.Executor;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Meters and traces, as the documentation shows them. */
class DocSnippetsObservabilityTest {
  private final TestDatabase database = TestDatabases.open(DatabaseKind.H2);
  private final DataSource dataSource = database.pool(20);
  private final JdbcStore store = JdbcStore.of(dataSource);
  private final MeterRegistry meterRegistry = new SimpleMeterRegistry();
  private final Channel orders =
      Channel.named("orders").on(OrderPlaced.class).handle("reserve-stock", order -> {}).build();

  @BeforeEach
  void makeTheTables() {
    Schema.migrate(dataSource);
    Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(dataSource);
  }

  @AfterEach
  void drop() {
    database.close();
  }

  private static void handle(Inbox inbox) {
    inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    inbox.drain();
  }

  @Test
  void metersOfAnInbox() {
    // snippet:metrics
    InboxMetrics metrics = InboxMetrics.to(meterRegistry);
    Inbox inbox =
        Inbox.on(store)
            .named("shop")
            .channel(orders)
            .listener(metrics)
            .around(ProcessObservations.in(meterRegistry))
            .build();
    metrics.watch(inbox);
    // end
    handle(inbox);
    assertThat(meterRegistry.get("pigeonhole.inbox.process").timer().count()).isEqualTo(1);
    assertThat(meterRegistry.get("pigeonhole.inbox.deliveries").gauges()).isNotEmpty();
  }

  @Test
  void metersOfAnOutbox() throws Exception {
    Transport transport = MemoryQueue.named("orders").transport();
    // snippet:metrics-outbox
    OutboxMetrics sent = OutboxMetrics.to(meterRegistry);
    RelayObservations relaying = RelayObservations.in(meterRegistry);
    Outbox outbox =
        Outbox.on(store)
            .named("shop-out")
            .route(OrderPlaced.class, transport)
            .listener(sent)
            .around(relaying)
            .onSending(relaying)
            .build();
    sent.watch(outbox.name(), outbox.admin());
    // end
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      outbox.publish(connection, Message.of(new OrderPlaced("o-1", "c-1")));
      connection.commit();
    }
    outbox.drain();
    assertThat(meterRegistry.get("pigeonhole.outbox.relay").timer().count()).isEqualTo(1);
  }

  @Test
  void gaugesOnAnExecutor() {
    Executor executor = Runnable::run;
    // snippet:metrics-gauges
    GaugeOptions gauges =
        GaugeOptions.defaults().every(Duration.ofMinutes(1)).countingUpTo(50_000).on(executor);
    InboxMetrics patient = InboxMetrics.to(meterRegistry, gauges);
    // end
    patient.watch(Inbox.on(store).channel(orders).build());
    assertThat(meterRegistry.get("pigeonhole.inbox.conflicts").gauge().value()).isZero();
  }

  @Test
  void tracesThatSurviveTheStore() {
    Tracer tracer = Tracer.NOOP;
    Propagator propagator = Propagator.NOOP;
    ObservationRegistry observationRegistry = ObservationRegistry.create();
    ObservationHandler<?> others = new DefaultTracingObservationHandler(tracer);
    // snippet:tracing
    StoredTraces traces = StoredTraces.of(tracer, propagator);
    observationRegistry
        .observationConfig()
        .observationHandler(new FirstMatchingCompositeObservationHandler(traces.handler(), others));
    Inbox inbox =
        Inbox.on(store)
            .channel(orders)
            .stamping(traces)
            .around(ProcessObservations.in(observationRegistry))
            .build();
    // end
    handle(inbox);
    assertThat(inbox.find("orders", "m-1", "reserve-stock")).isPresent();
  }
}
