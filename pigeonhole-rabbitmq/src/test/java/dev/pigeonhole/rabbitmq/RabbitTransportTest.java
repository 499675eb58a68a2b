package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Consumer;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.observation.ObservationCollector;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.tck.BrokerTransportContract;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The transport passes the contract on a real broker. */
class RabbitTransportTest extends BrokerTransportContract {

  @Override
  protected TornTarget target() {
    TestQueue queue = TestQueue.create();
    return new TornTarget() {
      @Override
      public Transport transport() {
        return RabbitTransport.queue(queue.proxied(), queue.name());
      }

      @Override
      public Transport toNowhere() {
        return RabbitTransport.exchange(queue.proxied(), "nowhere").routingKey("nobody");
      }

      @Override
      public List<Envelope> received() {
        return queue.arrived().stream().map(each -> Envelopes.in(queue.name(), each)).toList();
      }

      @Override
      public void stall() {
        queue.proxy().blackhole(Direction.TO_CLIENT);
      }

      @Override
      public void resume() {
        queue.proxy().heal();
      }

      @Override
      public OptionalInt tooLarge() {
        return OptionalInt.empty();
      }

      @Override
      public void disconnect() {
        queue.proxy().cut();
      }

      @Override
      public void close() {
        queue.close();
      }
    };
  }

  @Test
  void rq12_whatIsSentIsDurable() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      RabbitTransport transport = RabbitTransport.queue(queue.proxied(), queue.name());
      Envelope envelope = Envelope.of("test", "q").id("m").body(new byte[] {1}).build();
      assertThat(transport.send(List.of(envelope), Intake.LIMIT))
          .containsExactly(new Sent.Confirmed());
      assertThat(queue.arrived())
          .singleElement()
          .satisfies(it -> assertThat(it.getProperties().getDeliveryMode()).isEqualTo(2));
      transport.close();
    }
  }

  @Test
  void noBodyIsNotAnEmptyOne() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      RabbitTransport transport = RabbitTransport.queue(queue.proxied(), queue.name());
      Envelope none = Envelope.of("test", "q").id("none").build();
      Envelope empty = Envelope.of("test", "q").id("empty").body(new byte[0]).build();
      assertThat(transport.send(List.of(none, empty), Intake.LIMIT))
          .containsExactly(new Sent.Confirmed(), new Sent.Confirmed());
      transport.close();

      assertThat(queue.arrived().stream().map(each -> Envelopes.in(queue.name(), each)))
          .allMatch(each -> each.headers().asMap().isEmpty())
          .extracting(Envelope::body)
          .containsExactly(null, new byte[0]);
    }
  }

  @Test
  void aMessageThatAmqpCannotCarryFailsAloneAndShiftsNoConfirms() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      RabbitTransport transport =
          RabbitTransport.exchange(queue.proxied(), "").routingKey(queue.name());
      Envelope good = Envelope.of("test", "q").id("good").type("t").body(new byte[] {1}).build();
      Envelope bad = Envelope.of("test", "q").id("bad").contentType("c".repeat(300)).build();
      List<Sent> answers = transport.send(List.of(bad, good), Intake.LIMIT);
      assertThat(((Sent.Failed) answers.get(0)).cause())
          .isInstanceOf(PoisonException.class)
          .hasMessageStartingWith("PH-MAP-01");
      for (int i = 0; i < 3; i++) {
        assertThat(transport.send(List.of(good), Intake.LIMIT))
            .containsExactly(new Sent.Confirmed());
      }
      transport.close();
    }
  }

  @Test
  void anEnvelopeThatCannotBeWrittenKeepsNoneOfTheOthers() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      RabbitTransport transport = RabbitTransport.queue(queue.proxied(), queue.name());
      Envelope first = Envelope.of("test", "q").id("first").build();
      Envelope bad = Envelope.of("test", "q").id("bad").sentAt(Instant.MIN).build();
      Envelope last = Envelope.of("test", "q").id("last").build();
      List<Sent> answers = transport.send(List.of(first, bad, last), Intake.LIMIT);

      assertThat(List.of(answers.get(0), answers.get(2)))
          .containsExactly(new Sent.Confirmed(), new Sent.Confirmed());
      assertThat(((Sent.Failed) answers.get(1)).cause())
          .isInstanceOf(PoisonException.class)
          .hasMessageStartingWith("PH-MAP-01")
          .hasMessageContaining(queue.name());
      assertThat(transport.send(List.of(bad), Intake.LIMIT))
          .hasOnlyElementsOfType(Sent.Failed.class);
      assertThat(queue.arrived().stream().map(it -> it.getProperties().getMessageId()))
          .containsExactly("first", "last");
      transport.close();
    }
  }

  @Test
  void whatFailsInTheClientIsNotTheMessagesFault() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      RabbitTransport transport =
          RabbitTransport.queue(failing(queue.proxied(), () -> true), queue.name());
      Envelope one = Envelope.of("test", "q").id("one").build();
      assertThat(((Sent.Failed) transport.send(List.of(one), Intake.LIMIT).get(0)).cause())
          .isNotInstanceOf(PoisonException.class)
          .hasMessageStartingWith("PH-OBX-04")
          .hasMessageContaining("no observations");
      transport.close();
    }
  }

  /** Sends again at once, while the channel of the failed send is still being closed. */
  @Test
  void afterAFailureOfTheClientTheNextSendHasAChannelOfItsOwn() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      AtomicBoolean failing = new AtomicBoolean();
      RabbitTransport transport =
          RabbitTransport.queue(failing(queue.proxied(), failing::get), queue.name());
      for (int i = 0; i < 100; i++) {
        Envelope one = Envelope.of("test", "q").id("m-" + i).build();
        failing.set(true);
        assertThat(transport.send(List.of(one), Intake.LIMIT))
            .hasOnlyElementsOfType(Sent.Failed.class);
        failing.set(false);
        assertThat(transport.send(List.of(one), Intake.LIMIT))
            .as("after failure %d", i)
            .containsExactly(new Sent.Confirmed());
      }
      assertThat(queue.arrived()).as("what failed was not sent").hasSize(100);
      transport.close();
    }
  }

  /** The client fails before it writes a message; a collector of meters would fail after it. */
  private static ConnectionFactory failing(ConnectionFactory factory, BooleanSupplier failing) {
    factory.setObservationCollector(
        new ObservationCollector() {
          @Override
          public void publish(
              PublishCall call,
              AMQP.Basic.Publish publish,
              AMQP.BasicProperties properties,
              ByteBuffer body,
              ConnectionInfo connection)
              throws IOException {
            if (failing.getAsBoolean()) {
              throw new IllegalStateException("no observations");
            }
            call.publish(properties);
          }

          @Override
          public Consumer basicConsume(String queue, String tag, Consumer consumer) {
            return consumer;
          }

          @Override
          public GetResponse basicGet(BasicGetCall call, String queue) {
            return call.get();
          }
        });
    return factory;
  }

  @Test
  void whoMayNotPublishIsTold() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      String user = "reader-" + queue.name();
      RabbitServer.shared().addReader(user, "secret", "/", ".*");
      ConnectionFactory reader = queue.proxied();
      reader.setUsername(user);
      reader.setPassword("secret");
      RabbitTransport transport = RabbitTransport.exchange(reader, queue.deadLetters());
      Envelope one = Envelope.of("test", "q").id("one").type("t").build();
      Envelope two = Envelope.of("test", "q").id("two").type("t").build();
      assertThat(transport.send(List.of(one, two), Intake.LIMIT))
          .allSatisfy(
              it ->
                  assertThat(((Sent.Failed) it).cause())
                      .isNotInstanceOf(PoisonException.class)
                      .hasMessageStartingWith("PH-RMQ-02: ")
                      .hasMessageContaining("exchange '" + queue.deadLetters() + "'"));
      transport.close();

      reader.setPassword("another");
      RabbitTransport unknown = RabbitTransport.exchange(reader, queue.deadLetters());
      assertThatThrownBy(() -> unknown.send(List.of(one), Intake.LIMIT))
          .hasMessageStartingWith("PH-RMQ-02: ")
          .hasMessageContaining("Correct the login");
      unknown.close();
      RabbitServer.shared().deleteUser(user);
    }
  }

  /** The broker closes the channel because of the first of them, while others are being written. */
  @Test
  void allThatGoToAnExchangeThatIsNotThereAreUnroutable() throws Exception {
    try (TestQueue queue = TestQueue.create()) {
      RabbitTransport transport = RabbitTransport.exchange(queue.proxied(), "nowhere");
      List<Envelope> many =
          IntStream.range(0, 2_000)
              .mapToObj(i -> Envelope.of("test", "q").id("m-" + i).type("t").build())
              .toList();
      assertThat(transport.send(many, Intake.LIMIT)).hasOnlyElementsOfType(Sent.Unroutable.class);
      transport.close();
    }
  }

  @Test
  void aMessageThatIsTooLargeForTheBrokerFailsForGoodAndTheOthersAreSent() throws Exception {
    try (RabbitServer server = RabbitServer.start()) {
      server.eval("application:set_env(rabbit, max_message_size, 100000).");
      try (TestQueue queue = TestQueue.on(server, it -> it)) {
        RabbitTransport transport = RabbitTransport.queue(queue.straight(), queue.name());
        List<Envelope> envelopes =
            List.of(sized("first", 10), sized("huge", 100_001), sized("last", 100_000));

        List<Sent> answers = transport.send(envelopes, Intake.LIMIT);
        transport.close();

        assertThat(((Sent.Failed) answers.get(1)).cause())
            .isInstanceOf(PoisonException.class)
            .hasMessageStartingWith("PH-PAY-02: ")
            .hasMessageContaining("max_message_size");
        assertThat(List.of(answers.get(0), answers.get(2)))
            .containsExactly(new Sent.Confirmed(), new Sent.Confirmed());
        assertThat(queue.arrived())
            .extracting(it -> it.getProperties().getMessageId())
            .contains("first", "last")
            .doesNotContain("huge");
      }
    }
  }

  private static Envelope sized(String id, int bytes) {
    return Envelope.of("test", "q").id(id).body(new byte[bytes]).build();
  }
}
