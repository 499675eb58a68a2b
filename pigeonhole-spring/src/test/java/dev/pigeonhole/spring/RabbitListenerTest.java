package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.RabbitServer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.core.QueueBuilder;
import org.springframework.amqp.rabbit.annotation.EnableRabbit;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.amqp.rabbit.config.SimpleRabbitListenerContainerFactory;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.connection.ConnectionFactory;
import org.springframework.amqp.rabbit.core.RabbitAdmin;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.Transactional;

/** Listeners of Spring AMQP behind a guard, with a real broker. */
class RabbitListenerTest {
  private static final int CONSUMERS = 8;

  @Configuration(proxyBeanMethods = false)
  @EnableRabbit
  static class Rabbit {
    @Bean
    RabbitAdmin admin(ConnectionFactory connections) {
      return new RabbitAdmin(connections);
    }

    @Bean
    Queue queue() {
      return new Queue("orders");
    }

    @Bean
    RabbitTemplate rabbitTemplate(ConnectionFactory connections) {
      return new RabbitTemplate(connections);
    }

    @Bean
    AtomicInteger deliveries() {
      return new AtomicInteger();
    }

    @Bean
    SimpleRabbitListenerContainerFactory rabbitListenerContainerFactory(
        ConnectionFactory connections, AtomicInteger deliveries) {
      SimpleRabbitListenerContainerFactory factory = new SimpleRabbitListenerContainerFactory();
      factory.setConnectionFactory(connections);
      factory.setConcurrentConsumers(CONSUMERS);
      factory.setPrefetchCount(1);
      factory.setRecoveryInterval(100L);
      factory.setAfterReceivePostProcessors(
          message -> {
            deliveries.incrementAndGet();
            return message;
          });
      return factory;
    }
  }

  static class Listener {
    private final Charges charges;

    Listener(Charges charges) {
      this.charges = charges;
    }

    @RabbitListener(queues = "orders")
    @IdempotentMethod(handler = "charge-card", key = "#order")
    public void charge(String order) {
      charges.charge(order);
    }
  }

  /** A world and a virtual host in which listeners run. */
  private static final class Shop implements AutoCloseable {
    final RabbitServer server;
    final String host;
    final World world = World.postgres();

    Shop(RabbitServer server) {
      this(server, Listener.class);
    }

    Shop(RabbitServer server, Class<?>... listening) {
      this.server = server;
      this.host = server.newVirtualHost();
      world.context.registerBean(
          "connections",
          CachingConnectionFactory.class,
          () -> {
            CachingConnectionFactory factory =
                new CachingConnectionFactory("127.0.0.1", server.amqpPort());
            factory.setVirtualHost(host);
            factory.setPublisherConfirmType(CachingConnectionFactory.ConfirmType.SIMPLE);
            return factory;
          });
      world
          .with(Rabbit.class, Charges.class)
          .with(listening) // on purpose before the guard
          .with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class)
          .start();
    }

    Charges charges() {
      return world.bean(Charges.class);
    }

    void send(String... orders) {
      sendTo("orders", orders);
    }

    /** Returns when the queue has them. */
    void sendTo(String queue, String... orders) {
      world
          .bean(RabbitTemplate.class)
          .invoke(
              channel -> {
                for (String each : orders) {
                  channel.convertAndSend(queue, each);
                }
                channel.waitForConfirmsOrDie(Charges.LIMIT.toMillis());
                return null;
              });
    }

    /** Until the broker has nothing left, not even something that was handed out. */
    void awaitEmpty() {
      Eventually.until("an empty queue", Charges.LIMIT, () -> left() == 0);
    }

    long left() {
      return server.messages(host, "orders");
    }

    @Override
    public void close() {
      world.close();
    }
  }

  @Test
  void aRepeatIsAcknowledgedAndNotRun() {
    try (Shop shop = new Shop(RabbitServer.shared())) {
      shop.send("o-1");
      shop.awaitEmpty();
      shop.send("o-1", "o-2");
      shop.awaitEmpty();
      assertThat(shop.charges().runs()).containsExactlyInAnyOrder("o-1", "o-2");
      assertThat(shop.world.notes()).isEqualTo(2);
    }
  }

  @Test
  void listenersStopBeforeInboxes() {
    try (Shop shop = new Shop(RabbitServer.shared())) {
      assertThat(shop.world.bean(RabbitListenerEndpointRegistry.class).getListenerContainers())
          .isNotEmpty()
          .allMatch(each -> ((SmartLifecycle) each).getPhase() > PigeonholeLifecycle.PHASE);
    }
  }

  @Test
  void whatFailsIsRolledBackAndBroughtAgain() {
    try (Shop shop = new Shop(RabbitServer.shared())) {
      shop.charges().then =
          run -> {
            if (run < 3) {
              throw new IllegalStateException("not yet");
            }
          };
      shop.send("o-1");
      shop.awaitEmpty();
      assertThat(shop.charges().runs()).containsExactly("o-1", "o-1", "o-1");
      assertThat(shop.world.notes()).isEqualTo(1);
    }
  }

  @Test
  void aClassicQueueBringsItAgainAsOftenAsItTakes() {
    int failures = 50;
    try (Shop shop = new Shop(RabbitServer.shared())) {
      shop.charges().then =
          run -> {
            if (run <= failures) {
              throw new IllegalStateException("not yet");
            }
          };
      shop.send("o-1");
      shop.awaitEmpty();
      assertThat(shop.charges().runs()).hasSize(failures + 1);
      assertThat(shop.world.notes()).isEqualTo(1);
    }
  }

  /** Brokers since 4.0 limit quorum queues to 20 by themselves; this one does as it is told. */
  @Configuration(proxyBeanMethods = false)
  static class Limited {
    @Bean
    Queue limited() {
      return QueueBuilder.durable("limited").quorum().deliveryLimit(3).build();
    }
  }

  static class LimitedListener {
    private final Charges charges;

    LimitedListener(Charges charges) {
      this.charges = charges;
    }

    @RabbitListener(queues = "limited", concurrency = "1")
    @IdempotentMethod(handler = "charge-limited", key = "#order")
    public void charge(String order) {
      charges.charge(order);
    }
  }

  @Test
  void aQuorumQueueDropsItWhenItsLimitIsReached() {
    try (Shop shop =
        new Shop(RabbitServer.shared(), Listener.class, Limited.class, LimitedListener.class)) {
      shop.charges().then =
          run -> {
            throw new IllegalStateException("never");
          };
      shop.sendTo("limited", "o-1");
      Eventually.until(
          "the broker to give up",
          Charges.LIMIT,
          () -> shop.server.messages(shop.host, "limited") == 0);
      assertThat(shop.charges().runs()).hasSize(4);
      assertThat(shop.world.notes()).isZero();
    }
  }

  /** Hands what comes to an inbox, in a transaction of its own. */
  static class Accepting {
    private final InboxTemplate inbox;
    private final Charges charges;

    Accepting(InboxTemplate inbox, Charges charges) {
      this.inbox = inbox;
      this.charges = charges;
    }

    @RabbitListener(queues = "orders")
    @Transactional
    public void accept(String order) {
      inbox.accept("orders", Message.of(order, new OrderPlaced(order, "c")));
      charges.charge(order);
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    void reserve(OrderPlaced order) {}
  }

  @Test
  void jd08_whatAListenerHasAcceptedInATransactionThatIsRolledBackComesAgain() {
    try (Shop shop = new Shop(RabbitServer.shared(), World.WithInbox.class, Accepting.class)) {
      List<Long> accepted = new CopyOnWriteArrayList<>();
      shop.charges().then =
          run -> {
            accepted.add(shop.world.rows("pigeonhole_message")); // seen from outside
            if (run < 3) {
              throw new IllegalStateException("not yet");
            }
          };
      shop.send("o-1");
      shop.awaitEmpty();
      assertThat(accepted).containsExactly(0L, 0L, 0L);
      assertThat(shop.world.rows("pigeonhole_message")).isEqualTo(1);
      assertThat(shop.world.notes()).isEqualTo(1);
    }
  }

  @Test
  void copiesThatComeTogetherRunOnce() {
    int keys = 20;
    List<String> copies = new ArrayList<>();
    for (int key = 0; key < keys; key++) {
      copies.addAll(Collections.nCopies(CONSUMERS, "o-" + key));
    }
    try (Shop shop = new Shop(RabbitServer.shared())) {
      shop.send(copies.toArray(String[]::new));
      shop.awaitEmpty();
      assertThat(shop.world.notes()).isEqualTo(keys);
      assertThat(shop.world.database.count("SELECT count(DISTINCT order_id) FROM note"))
          .isEqualTo(keys);
    }
  }

  @Test
  void rq07_aListenerThatIsSlowerThanTheBrokerIsPatientRunsOnce() {
    try (RabbitServer server = RabbitServer.start()) {
      patience(server, 500, 200); // a channel asks when it is opened
      try (Shop shop = new Shop(server)) {
        CountDownLatch gate = new CountDownLatch(1);
        shop.charges().then = run -> await(gate);
        AtomicInteger deliveries = shop.world.bean(AtomicInteger.class);
        try {
          shop.send("o-1");
          Eventually.until(
              "the broker to give it to another", Charges.LIMIT, () -> deliveries.get() > 1);
        } finally {
          gate.countDown();
        }
        shop.awaitEmpty();
        assertThat(shop.charges().runs()).containsExactly("o-1");
        assertThat(shop.world.notes()).isEqualTo(1);
      }
    }
  }

  /**
   * After how long without an acknowledgement a channel is closed, and how often that is looked at.
   */
  private static void patience(RabbitServer server, int millis, int look) {
    server.eval(
        "application:set_env(rabbit, consumer_timeout, %d), application:set_env(rabbit, channel_tick_interval, %d)."
            .formatted(millis, look));
  }

  private static void await(CountDownLatch gate) {
    try {
      gate.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting", e);
    }
  }
}
