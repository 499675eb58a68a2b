package dev.pigeonhole.benchmarks.peers.springmodulith;

import dev.pigeonhole.benchmarks.peers.Calls;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.modulith.events.ApplicationModuleListener;
import org.springframework.scheduling.annotation.EnableAsync;

/** As small as an application with a listener can be; pool and counter are given to it. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableAsync
class Application {

  @Bean
  Listener listener(Calls calls) {
    return new Listener(calls);
  }

  /** Called in a thread and a transaction of its own, after the commit of the publisher. */
  static class Listener {

    private final Calls calls;

    Listener(Calls calls) {
      this.calls = calls;
    }

    @ApplicationModuleListener
    void on(Received received) {
      calls.handled(received.id());
    }
  }
}
