package dev.pigeonhole.tck;

import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.util.List;

/** The queue of the test kit keeps the contract, so that tests with it say something. */
class MemorySourceTest extends BrokerSourceContract {

  @Override
  protected TornBroker broker() {
    MemoryQueue queue = MemoryQueue.named("contract");
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
        return queue.size();
      }

      @Override
      public List<PutAside> aside() {
        return queue.aside().stream()
            .map(it -> new PutAside(it.envelope().id().orElse(""), it.reason()))
            .toList();
      }

      @Override
      public int tooLarge() {
        return 1_000_001;
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
