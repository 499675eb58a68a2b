package dev.pigeonhole.rabbitmq;

import dev.pigeonhole.tck.BrokerSourceContract;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.util.List;

class RabbitSourceTest extends BrokerSourceContract {

  @Override
  protected TornBroker broker() {
    TestQueue queue = TestQueue.create();
    return new TornBroker() {
      @Override
      public MessageSource source() {
        return queue.source();
      }

      @Override
      public void send(Envelope envelope) {
        queue.send(envelope);
      }

      @Override
      public long unacknowledged() {
        return queue.unacknowledged();
      }

      @Override
      public List<PutAside> aside() {
        return queue.putAside().stream()
            .map(
                each ->
                    new PutAside(
                        Envelopes.in("aside", each).id().orElse(""),
                        String.valueOf(each.getProperties().getHeaders().get(Names.REASON))))
            .toList();
      }

      @Override
      public int tooLarge() {
        return 1_000_001;
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
}
