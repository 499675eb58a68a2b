package dev.pigeonhole.rabbitmq;

import dev.pigeonhole.support.Direction;
import dev.pigeonhole.tck.BrokerTransportContract;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Transport;
import java.util.List;
import java.util.OptionalInt;

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
}
