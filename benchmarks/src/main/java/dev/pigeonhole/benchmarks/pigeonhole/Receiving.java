package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.broker.LoadedQueue;
import dev.pigeonhole.benchmarks.broker.LoadedTopic;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.transport.MessageSource;

/** From a broker through the inbox to the handler, until the last receipt is durable. */
final class Receiving {

  private Receiving() {}

  static long fromRabbit(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (LoadedQueue queue = LoadedQueue.of(run, messages)) {
      return receive(run, messages, RabbitSource.queue(queue.factory(), queue.name()));
    }
  }

  static long fromKafka(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (LoadedTopic topic = LoadedTopic.of(run, messages)) {
      long completed =
          receive(run, messages, KafkaSource.topic(topic.consumerConfig(), topic.name()));
      topic.checkCommitted(messages.count());
      return completed;
    }
  }

  /** Returns when the source has stopped, and the broker knows what was taken. */
  private static long receive(Run run, Messages messages, MessageSource source) throws Exception {
    Gate gate = new Gate();
    try (LoadedInbox loaded = LoadedInbox.receiving(run, messages, new GatedSource(source, gate))) {
      loaded.start();
      gate.awaitFirst();
      run.begin();
      gate.open();
      return loaded.finish();
    }
  }
}
