package dev.pigeonhole.benchmarks.peers.namastack;

import dev.pigeonhole.benchmarks.peers.Calls;
import io.namastack.outbox.handler.OutboxRecordMetadata;
import io.namastack.outbox.handler.OutboxTypedHandler;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** As small as an application with an outbox can be; pool and counter are given to it. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class Application {

  @Bean
  Handler handler(Calls calls) {
    return new Handler(calls);
  }

  /** A class of its own, since the outbox finds out by reflection what it handles. */
  static final class Handler implements OutboxTypedHandler<Received> {

    private final Calls calls;

    Handler(Calls calls) {
      this.calls = calls;
    }

    @Override
    public void handle(Received received, OutboxRecordMetadata metadata) {
      calls.handled(received.id());
    }
  }
}
