package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.MessageProperties;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RabbitServerTest {

  private static final Duration LIMIT = Duration.ofMinutes(5);

  private static RabbitServer server;

  @BeforeAll
  static void startServer() {
    server = RabbitServer.start();
  }

  @AfterAll
  static void closeServer() {
    server.close();
  }

  @Test
  void hasNoPlugins() {
    assertThat(server.eval("rabbit_plugins:active().")).isEqualTo("[]");
  }

  @Test
  void whatErlangRefusesSaysWhy() {
    assertThatThrownBy(() -> server.messages("/", "nothing"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Erlang fails")
        .hasMessageContaining("not_found");
  }

  @Test
  void virtualHostsAreApart() throws Exception {
    String one = server.newVirtualHost();
    String other = server.newVirtualHost();
    declare(one, "orders", "classic");
    send(one, "orders", "a");

    assertThat(server.messages(one, "orders")).isEqualTo(1);
    assertThatThrownBy(() -> server.messages(other, "orders")).hasMessageContaining("not_found");
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  @Tag("full")
  void confirmedMessagesSurviveCrashes(String type) throws Exception {
    String host = server.newVirtualHost();
    declare(host, "orders", type);
    server.writeQueues();
    for (String body : List.of("first", "second")) {
      send(host, "orders", body);
      server.crash();
      assertThatThrownBy(() -> connect(host)).isInstanceOf(ConnectException.class);
      server.restart();

      // A queue of replicas looks for a leader first, if only among one.
      Eventually.until("the queue", LIMIT, () -> server.messages(host, "orders") > 0);
      assertThat(firstOf(host, "orders")).isEqualTo("first");
    }
    Eventually.until("both", LIMIT, () -> server.messages(host, "orders") == 2);
  }

  @Test
  void stoppedServerTellsItsClientsAndComesBack() throws Exception {
    String host = server.newVirtualHost();
    CompletableFuture<ShutdownSignalException> told = new CompletableFuture<>();
    Connection connection = connect(host);
    connection.addShutdownListener(told::complete);

    server.stop();

    AMQP.Connection.Close close =
        (AMQP.Connection.Close) told.get(LIMIT.toSeconds(), TimeUnit.SECONDS).getReason();
    assertThat(close.getReplyCode()).isEqualTo(AMQP.CONNECTION_FORCED);
    server.restart();
    connect(host).close();
  }

  @Test
  void pausedServerAcceptsButDoesNotAnswer() throws Exception {
    String host = server.newVirtualHost();
    ConnectionFactory impatient = factory(host);
    impatient.setHandshakeTimeout(1_000);
    server.pause();
    try {
      assertThatThrownBy(impatient::newConnection)
          .isInstanceOfAny(TimeoutException.class, IOException.class)
          .isNotInstanceOf(ConnectException.class);
    } finally {
      server.resume();
    }

    Eventually.passes(LIMIT, () -> connect(host).close());
  }

  @Test
  @Tag("full")
  void nothingIsLeftOfAClosedServer() {
    RabbitServer closed = RabbitServer.start();
    List<Long> pids = processesOf(closed);

    closed.close();

    assertThat(pids).hasSizeGreaterThan(1).allMatch(ServerProcess::isGone);
    assertThat(closed.home()).doesNotExist();
  }

  @Test
  @Tag("full")
  void nothingIsLeftOfAPausedServerWhoseParentIsKilled() {
    try (JavaProcess parent = JavaProcess.of(Parent.class).start()) {
      Path home = Path.of(parent.awaitLine("home ", LIMIT).substring("home ".length()));
      List<Long> pids =
          parent.output().stream()
              .filter(line -> line.startsWith("process "))
              .map(line -> Long.parseLong(line.substring("process ".length())))
              .toList();
      assertThat(pids).hasSizeGreaterThan(2).noneMatch(ServerProcess::isGone);

      parent.kill9();

      Eventually.passes(LIMIT, () -> assertThat(pids).allMatch(ServerProcess::isGone));
      Eventually.until("the data to be deleted", LIMIT, () -> Files.notExists(home));
    }
  }

  /** Takes care of nothing that it starts. */
  static final class Parent {
    public static void main(String[] args) throws InterruptedException {
      RabbitServer server = RabbitServer.start();
      server.pause();
      System.out.println("process " + Epmd.shared().pid());
      processesOf(server).forEach(pid -> System.out.println("process " + pid));
      System.out.println("home " + server.home());
      new CountDownLatch(1).await();
    }
  }

  private static List<Long> processesOf(RabbitServer server) {
    List<Long> pids = new ArrayList<>(List.of(server.pid()));
    ProcessHandle.of(server.pid())
        .ifPresent(it -> it.descendants().forEach(child -> pids.add(child.pid())));
    return pids;
  }

  private static ConnectionFactory factory(String host) {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(server.amqpPort());
    factory.setVirtualHost(host);
    factory.setAutomaticRecoveryEnabled(false);
    return factory;
  }

  private static Connection connect(String host) throws IOException, TimeoutException {
    return factory(host).newConnection();
  }

  private static void declare(String host, String queue, String type)
      throws IOException, TimeoutException {
    try (Connection connection = connect(host);
        Channel channel = connection.createChannel()) {
      channel.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type));
    }
  }

  private static void send(String host, String queue, String body) throws Exception {
    try (Connection connection = connect(host);
        Channel channel = connection.createChannel()) {
      channel.confirmSelect();
      channel.basicPublish(
          "", queue, MessageProperties.PERSISTENT_BASIC, body.getBytes(StandardCharsets.UTF_8));
      channel.waitForConfirmsOrDie(LIMIT.toMillis());
    }
  }

  /** Looks at the first message without taking it: the broker puts it back as we leave. */
  private static String firstOf(String host, String queue) throws IOException, TimeoutException {
    try (Connection connection = connect(host);
        Channel channel = connection.createChannel()) {
      GetResponse first = channel.basicGet(queue, false);
      assertThat(first).as("first of %s", queue).isNotNull();
      return new String(first.getBody(), StandardCharsets.UTF_8);
    }
  }
}
