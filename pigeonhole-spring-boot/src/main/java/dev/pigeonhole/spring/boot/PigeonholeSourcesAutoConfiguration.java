package dev.pigeonhole.spring.boot;

import com.rabbitmq.client.Address;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Channel;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Transport;
import dev.pigeonhole.transport.MessageSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.amqp.rabbit.connection.AbstractConnectionFactory;
import org.springframework.amqp.rabbit.connection.ConnectionFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.ConsumerFactory;

/** Channels that are fed by RabbitMQ and Kafka, with what Spring Boot knows of the brokers. */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration",
      "org.springframework.boot.rabbitmq.autoconfigure.RabbitAutoConfiguration",
      "org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration"
    })
public final class PigeonholeSourcesAutoConfiguration {

  PigeonholeSourcesAutoConfiguration() {}

  private static String destination(String channel, Channel properties) {
    return properties.destination() == null ? channel : properties.destination();
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({RabbitSource.class, ConnectionFactory.class})
  static class RabbitConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "pigeonholeRabbitSources")
    ChannelSource pigeonholeRabbitSources(
        ObjectProvider<ConnectionFactory> connections, ObjectProvider<RabbitNodes> nodes) {
      return new RabbitSources(connections, nodes);
    }
  }

  /** Spring AMQP does not tell which addresses it was given; Spring Boot before 4.2 does. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({
    RabbitSource.class,
    ConnectionFactory.class,
    org.springframework.boot.amqp.autoconfigure.RabbitConnectionDetails.class
  })
  static class RabbitNodesConfiguration {

    @Bean
    @ConditionalOnMissingBean
    RabbitNodes pigeonholeRabbitNodes(
        ObjectProvider<org.springframework.boot.amqp.autoconfigure.RabbitConnectionDetails>
            details) {
      return () ->
          details.stream()
              .flatMap(each -> each.getAddresses().stream())
              .map(each -> new Address(each.host(), each.port()))
              .toList();
    }
  }

  /** All nodes of the broker that Spring Boot knows. */
  interface RabbitNodes {
    List<Address> get();
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({KafkaSource.class, ConsumerFactory.class})
  static class KafkaConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "pigeonholeKafkaSources")
    ChannelSource pigeonholeKafkaSources(ObjectProvider<ConsumerFactory<?, ?>> consumers) {
      return new KafkaSources(consumers);
    }
  }

  /** Each source has a connection of its own, made as Spring would make one. */
  private record RabbitSources(
      ObjectProvider<ConnectionFactory> connections, ObjectProvider<RabbitNodes> nodes)
      implements ChannelSource {

    @Override
    public Transport transport() {
      return Transport.RABBITMQ;
    }

    @Override
    public MessageSource of(String channel, Channel properties) {
      if (!(connections.getIfUnique() instanceof AbstractConnectionFactory factory)) {
        throw new ConfigurationException(
            ErrorCode.TRANSPORT_MISSING,
            "its transport is rabbitmq, and there is no single ConnectionFactory of Spring AMQP"
                + " to take the connection from. Add spring-boot-starter-amqp (from Spring Boot"
                + " 4.2 on: spring-boot-starter-rabbitmq), or make one @Primary.");
      }
      RabbitSource source =
          RabbitSource.queue(factory.getRabbitConnectionFactory(), destination(channel, properties))
              .nodes(nodesOf(factory));
      if (properties.refused() != null) {
        source = source.deadLetters(properties.refused());
      }
      return properties.concurrency() == null ? source : source.consumers(properties.concurrency());
    }

    /** None if somebody else has said where to connect to. */
    private Address[] nodesOf(AbstractConnectionFactory factory) {
      RabbitNodes known = nodes.getIfAvailable();
      List<Address> all = known == null ? List.of() : known.get();
      boolean theirs =
          !all.isEmpty() && all.get(0).equals(new Address(factory.getHost(), factory.getPort()));
      return theirs ? all.toArray(Address[]::new) : new Address[0];
    }
  }

  private record KafkaSources(ObjectProvider<ConsumerFactory<?, ?>> consumers)
      implements ChannelSource {

    @Override
    public Transport transport() {
      return Transport.KAFKA;
    }

    @Override
    public MessageSource of(String channel, Channel properties) {
      ConsumerFactory<?, ?> consumer = consumers.getIfUnique();
      if (consumer == null) {
        throw new ConfigurationException(
            ErrorCode.TRANSPORT_MISSING,
            "its transport is kafka, and there is no single ConsumerFactory of Spring Kafka to"
                + " take the settings from. Add spring-boot-starter-kafka, or make one @Primary.");
      }
      Map<String, @Nullable Object> settings = new HashMap<>(consumer.getConfigurationProperties());
      // Those are for listeners of Spring; Spring Boot always names one for keys.
      settings.remove("key.deserializer");
      settings.remove("value.deserializer");
      settings.remove("max.poll.records");
      if (properties.group() != null) {
        settings.put("group.id", properties.group());
      }
      KafkaSource source = KafkaSource.topic(settings, destination(channel, properties));
      return properties.refused() == null ? source : source.parkingIn(properties.refused());
    }
  }
}
