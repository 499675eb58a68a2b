package dev.pigeonhole.kafka;

import dev.pigeonhole.tck.BrokerSourceContract;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;

/** The source passes the contract on a real broker. */
class KafkaSourceTest extends BrokerSourceContract {

  @Override
  protected TornBroker broker() {
    return new KafkaBroker();
  }

  private static final class KafkaBroker implements TornBroker {
    private final TestBroker broker = TestBroker.shared();
    private final String topic = broker.topic(2);
    private final String parking = broker.topic(1);

    @Override
    public MessageSource source() {
      return KafkaSource.topic(broker.config(), topic).parkingIn(parking);
    }

    /**
     * Kafka keeps order in a partition, and holds back there what stands behind an unfinished
     * record. The contract numbers what has to keep its order, and names what goes its own way.
     */
    @Override
    public void send(Envelope envelope) {
      boolean numbered = envelope.id().orElse("").startsWith("m-");
      broker.send(
          numbered ? 0 : 1,
          TestBroker.envelope(topic, "")
              .id(envelope.id().orElse(null))
              .type(envelope.type().orElse(null))
              .contentType(envelope.contentType().orElse(null))
              .headers(envelope.headers())
              .body(envelope.body())
              .build());
    }

    @Override
    public long unacknowledged() {
      return broker.lag(topic, 2);
    }

    @Override
    public List<PutAside> aside() {
      return broker.read(parking).stream()
          .map(
              each ->
                  new PutAside(
                      TestBroker.header(each, "pigeonhole-id"),
                      TestBroker.header(each, "pigeonhole-reason")))
          .toList();
    }

    @Override
    public int tooLarge() {
      return 1_000_001;
    }

    /**
     * A torn connection takes nothing from a consumer of Kafka, which makes another one; what takes
     * its records from it is to be thrown out of the group.
     */
    @Override
    public void disconnect() {
      try {
        broker
            .admin()
            .removeMembersFromConsumerGroup(
                broker.group, new RemoveMembersFromConsumerGroupOptions())
            .all()
            .get(300, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        // It was about to come back after the last time, so there was nobody to throw out.
      } catch (TimeoutException e) {
        throw new AssertionError("The broker did not answer", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("Interrupted", e);
      }
    }

    @Override
    public void close() {
      broker.close();
    }
  }
}
