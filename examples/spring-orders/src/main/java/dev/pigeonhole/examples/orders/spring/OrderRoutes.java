package dev.pigeonhole.examples.orders.spring;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.rabbitmq.RabbitQueue;
import dev.pigeonhole.rabbitmq.RabbitTopology;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.spring.boot.OutboxCustomizer;
import java.io.IOException;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/** Where orders go from the outbox. */
@Configuration(proxyBeanMethods = false)
class OrderRoutes {

  /** Handlers are in this process and on this database: a broker in between would only cost. */
  @Bean
  @Profile("!rabbitmq")
  OutboxCustomizer straightIntoTheInbox(Inbox inbox) {
    return outbox -> outbox.into(Order.class, inbox.publisher("orders"));
  }

  /** With the profile "rabbitmq" orders go over a queue, as they would to another service. */
  @Bean
  @Profile("rabbitmq")
  OutboxCustomizer overRabbitMq(CachingConnectionFactory connections) throws IOException {
    ConnectionFactory factory = connections.getRabbitConnectionFactory();
    RabbitTopology.create()
        .exchange("orders.dead", BuiltinExchangeType.DIRECT)
        .queue(RabbitQueue.quorum("orders").deadLetters("orders.dead", "orders"))
        .queue(RabbitQueue.classic("orders.dead"))
        .bind("orders.dead", "orders.dead", "orders")
        .declare(factory);
    return outbox -> outbox.route(Order.class, RabbitTransport.queue(factory, "orders"));
  }
}
