package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.testkit.TestInbox;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is observed of attempts, and under which names. */
class ObservationsTest {
  private final MeterRegistry meters = new SimpleMeterRegistry();
  private final List<Observation.Context> stopped = new ArrayList<>();
  private final ObservationRegistry registry = OpenObservations.timing(meters);

  ObservationsTest() {
    registry
        .observationConfig()
        .observationHandler(
            new ObservationHandler<Observation.Context>() {
              @Override
              public void onStop(Observation.Context context) {
                stopped.add(context);
              }

              @Override
              public boolean supportsContext(Observation.Context context) {
                return true;
              }
            });
  }

  private static void handle(String text) {
    if (text.startsWith("bad")) {
      throw new IllegalStateException("text that no meter may show: " + text);
    }
  }

  private static void run(ProcessObservations observing) {
    TestInbox inbox =
        TestInbox.of(
                Channel.named("c")
                    .on(String.class)
                    .named("greeting")
                    .handle(
                        "h",
                        ObservationsTest::handle,
                        HandlerOption.retrying(
                            RetryPolicy.fixed(Duration.ofSeconds(1)).maxAttempts(2)))
                    .build())
            .with(it -> it.around(observing));
    inbox.receive("c", Message.of("m1", "fine").header("correlation-id", "c-7"));
    inbox.receive("m2", "bad");
    inbox.drain();
    inbox.advance(Duration.ofSeconds(2)).drain();
    assertThat(observing.underWay()).isZero();
  }

  @Test
  void theOutcomeIsWhatTheRetryPolicySays() {
    run(ProcessObservations.in(registry));

    String name = "pigeonhole.inbox.process";
    assertThat(meters.get(name).tags("outcome", "completed").timer().count()).isEqualTo(1);
    assertThat(meters.get(name).tags("outcome", "retry").timer().count()).isEqualTo(1);
    assertThat(meters.get(name).tags("outcome", "poisoned").timer().count()).isEqualTo(1);
    assertThat(stopped).hasSize(3);
    assertThat(stopped.get(0).getContextualName()).isEqualTo("process h");
    assertThat(stopped.get(0).getHighCardinalityKeyValues())
        .isEqualTo(
            KeyValues.of(
                "messaging.message.id", "m1",
                "pigeonhole.attempt", "1",
                "messaging.message.conversation_id", "c-7"));
    assertThat(stopped.get(1).getHighCardinalityKeyValues())
        .isEqualTo(KeyValues.of("messaging.message.id", "m2", "pigeonhole.attempt", "1"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"start", "open", "close", "error", "stop"})
  void anObservationHandlerThatFailsAffectsNoMessage(String failing) {
    ObservationRegistry fragile = ObservationRegistry.create();
    fragile.observationConfig().observationHandler(new Fragile(failing));
    List<String> handled = new ArrayList<>();
    TestInbox inbox =
        TestInbox.of(
                Channel.named("c")
                    .on(String.class)
                    .named("greeting")
                    .handle(
                        "h",
                        text -> {
                          handled.add(text);
                          assertThat(fragile.getCurrentObservationScope() == null)
                              .isEqualTo(failing.equals("start") || failing.equals("open"));
                          handle(text);
                        },
                        HandlerOption.retrying(
                            RetryPolicy.fixed(Duration.ofSeconds(1)).maxAttempts(1)))
                    .build())
            .with(it -> it.around(ProcessObservations.in(fragile)));
    inbox.receive("m1", "fine");
    inbox.receive("m2", "bad");
    inbox.drain();

    assertThat(handled).containsExactlyInAnyOrder("fine", "bad");
    assertThat(inbox.find("m1", "h").orElseThrow().state()).isEqualTo(DeliveryState.COMPLETED);
    assertThat(inbox.find("m2", "h").orElseThrow().lastFailure().orElseThrow().type())
        .isEqualTo(IllegalStateException.class.getName());
    assertThat(fragile.getCurrentObservationScope()).isNull();
  }

  private record Fragile(String failing) implements ObservationHandler<Observation.Context> {
    private void reach(String step) {
      if (step.equals(failing)) {
        throw new UnsupportedOperationException(step);
      }
    }

    @Override
    public void onStart(Observation.Context context) {
      reach("start");
    }

    @Override
    public void onScopeOpened(Observation.Context context) {
      reach("open");
    }

    @Override
    public void onScopeClosed(Observation.Context context) {
      reach("close");
    }

    @Override
    public void onError(Observation.Context context) {
      reach("error");
    }

    @Override
    public void onStop(Observation.Context context) {
      reach("stop");
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return true;
    }
  }

  @Test
  void namesCanBeThoseOfOpenTelemetry() {
    run(ProcessObservations.in(registry).convention(ProcessConvention.openTelemetry()));

    assertThat(meters.find("pigeonhole.inbox.process").timers()).isEmpty();
    assertThat(
            meters
                .get("messaging.process.duration")
                .tags(
                    "messaging.operation.name",
                    "process",
                    "messaging.system",
                    "pigeonhole",
                    "messaging.destination.name",
                    "inbox",
                    "messaging.destination.subscription.name",
                    "h",
                    "error.type",
                    "java.lang.IllegalStateException")
                .timers())
        .hasSize(2);
    assertThat(stopped.get(0).getContextualName()).isEqualTo("process inbox");
  }

  @Test
  void namesOfWhatIsSentCanBeThoseOfOpenTelemetry() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Shop shop = Shop.in(database);
      MemoryQueue queue = MemoryQueue.named("orders");
      RelayObservations relaying =
          RelayObservations.in(registry).convention(RelayConvention.openTelemetry());
      Outbox outbox =
          Outbox.on(shop.store)
              .named("shop-out")
              .codec(Shop.CODEC)
              .lanes(4)
              .route(OrderPlaced.class, queue.transport())
              .around(relaying)
              .onSending(relaying)
              .build();
      Message order = Message.of("m1", new OrderPlaced("o")).header("correlation-id", "c-7");
      shop.commit(tx -> outbox.publish(tx, order));
      outbox.drain();
      queue.delete();
      shop.commit(tx -> outbox.publish(tx, Message.of("m2", new OrderPlaced("o"))));
      outbox.drain();
    }

    assertThat(meters.find("pigeonhole.outbox.relay").timers()).isEmpty();
    String[] keys = {
      "messaging.operation.name", "send",
      "messaging.operation.type", "send",
      "messaging.system", "pigeonhole",
      "messaging.destination.name", "shop-out",
      "messaging.destination.subscription.name", "OrderPlaced"
    };
    assertThat(meters.get("messaging.client.operation.duration").tags(keys).timers())
        .extracting(
            timer -> timer.getId().getTag("pigeonhole.outcome"),
            timer -> timer.getId().getTag("error.type"))
        .containsExactlyInAnyOrder(
            tuple("completed", "none"), tuple("poisoned", PoisonException.class.getName()));
    assertThat(stopped.get(0).getContextualName()).isEqualTo("send OrderPlaced");
    assertThat(stopped.get(0).getHighCardinalityKeyValues())
        .isEqualTo(
            KeyValues.of(
                "messaging.message.id", "m1",
                "pigeonhole.attempt", "1",
                "messaging.message.conversation_id", "c-7"));
  }

  @Test
  void aConventionOfTheRegistryIsForAll() {
    registry
        .observationConfig()
        .observationConvention(
            new GlobalObservationConvention<ProcessContext>() {
              @Override
              public String getName() {
                return "mine";
              }

              @Override
              public boolean supportsContext(Observation.Context context) {
                return context instanceof ProcessContext;
              }
            });
    run(ProcessObservations.in(registry));

    assertThat(meters.get("mine").timers().stream().mapToLong(Timer::count).sum()).isEqualTo(3);
  }

  @Test
  void aRegistryThatObservesNothingIsNotAsked() {
    ProcessObservations observing = ProcessObservations.in(ObservationRegistry.NOOP);
    run(observing);
    assertThat(stopped).isEmpty();
  }

  @Test
  void anObservationThatIsSwitchedOffIsNotKept() {
    registry.observationConfig().observationPredicate((name, context) -> false);
    run(ProcessObservations.in(registry));
    assertThat(stopped).isEmpty();
    assertThat(meters.getMeters()).isEmpty();
  }
}
