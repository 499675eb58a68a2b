package dev.pigeonhole.tck;

import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Transport;
import java.util.List;
import java.util.OptionalInt;

/**
 * The way into the queue of the test kit keeps the contract, so that tests with it say something.
 */
class MemoryTransportTest extends BrokerTransportContract {

  @Override
  protected TornTarget target() {
    MemoryQueue queue = MemoryQueue.named("contract");
    return new TornTarget() {
      @Override
      public Transport transport() {
        return queue.transport();
      }

      @Override
      public Transport toNowhere() {
        MemoryQueue gone = MemoryQueue.named("gone");
        gone.delete();
        return gone.transport();
      }

      @Override
      public List<Envelope> received() {
        return queue.waiting();
      }

      @Override
      public void stall() {
        queue.stall();
      }

      @Override
      public void resume() {
        queue.resume();
      }

      @Override
      public OptionalInt tooLarge() {
        return OptionalInt.of(1_000_001);
      }

      @Override
      public void disconnect() {
        queue.disconnect();
      }

      @Override
      public void close() {}
    };
  }
}
