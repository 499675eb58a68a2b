package dev.pigeonhole.support;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

  private EchoServer echo;
  private FaultProxy proxy;

  @BeforeEach
  void start() throws IOException {
    echo = new EchoServer();
    proxy = FaultProxy.to("127.0.0.1", echo.port());
  }

  @AfterEach
  void stop() throws Exception {
    proxy.close();
    echo.close();
  }

  @Test
  void passesEverythingThrough() throws IOException {
    try (Socket client = connect()) {
      assertThat(exchange(client, "hello")).isEqualTo("hello");
      client.shutdownOutput();
      assertThat(client.getInputStream().read()).isEqualTo(-1);
    }
    assertThat(proxy.hits()).isZero();
    assertThat(proxy.connections()).isOne();
  }

  @Test
  void cutResetsOpenConnectionsOnly() throws IOException {
    try (Socket client = connect()) {
      exchange(client, "hello");
      proxy.cut();
      assertThatThrownBy(() -> exchange(client, "again")).isInstanceOf(IOException.class);
    }
    assertThat(proxy.hits()).isOne();
    try (Socket client = connect()) {
      assertThat(exchange(client, "new")).isEqualTo("new");
    }
  }

  @Test
  void refusesAndAcceptsAgainOnTheSamePort() throws IOException {
    Socket open = connect();
    exchange(open, "hello");

    proxy.refuse(true);
    assertThatThrownBy(this::connect).isInstanceOf(IOException.class);
    assertThat(exchange(open, "still there")).isEqualTo("still there");
    open.close();

    proxy.refuse(false);
    try (Socket client = connect()) {
      assertThat(exchange(client, "back")).isEqualTo("back");
    }
  }

  @Test
  void blackholeHoldsBytesUntilHealed() throws IOException {
    for (Direction direction : Direction.values()) {
      try (Socket client = connect()) {
        exchange(client, "hello");
        proxy.blackhole(direction);
        client.setSoTimeout(200);
        assertThatThrownBy(() -> exchange(client, "lost?"))
            .isInstanceOf(SocketTimeoutException.class);
        Eventually.until(Duration.ofMinutes(3), () -> proxy.hits() > 0);

        proxy.heal();

        client.setSoTimeout(300_000);
        assertThat(new String(client.getInputStream().readNBytes(5), US_ASCII)).isEqualTo("lost?");
      }
    }
  }

  @Test
  void latencyDelaysBothWays() throws IOException {
    try (Socket client = connect()) {
      exchange(client, "hello");
      proxy.latency(Duration.ofMillis(100));
      long start = System.nanoTime();
      exchange(client, "slow");

      assertThat(Duration.ofNanos(System.nanoTime() - start))
          .isGreaterThanOrEqualTo(Duration.ofMillis(200));
    }
  }

  @Test
  void cutsRightAfterTheNthPattern() throws IOException {
    proxy.cutAfter(Direction.TO_SERVER, "aab".getBytes(US_ASCII), 2);
    try (Socket client = connect()) {
      assertThat(exchange(client, "aaab")).isEqualTo("aaab");
      assertThat(exchange(client, "a")).isEqualTo("a");
      assertThat(exchange(client, "a")).isEqualTo("a");
      assertThat(proxy.hits()).isZero();

      assertThatThrownBy(
              () -> {
                exchange(client, "bc");
                exchange(client, "d");
              })
          .isInstanceOf(IOException.class);
    }
    assertThat(proxy.hits()).isOne();
    Eventually.until(Duration.ofMinutes(3), () -> echo.received().equals("aaabaab"));
  }

  @Test
  void deadServerLooksLikeAClosedConnection() throws Exception {
    echo.close();
    try (Socket client = connect()) {
      assertThatThrownBy(
              () -> {
                exchange(client, "hello");
                exchange(client, "hello");
              })
          .isInstanceOf(IOException.class);
    }
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
    socket.setSoTimeout(300_000);
    return socket;
  }

  private static String exchange(Socket client, String text) throws IOException {
    client.getOutputStream().write(text.getBytes(US_ASCII));
    byte[] answer = client.getInputStream().readNBytes(text.length());
    if (answer.length < text.length()) {
      throw new IOException("The connection ended");
    }
    return new String(answer, US_ASCII);
  }

  /** Sends back what it gets and remembers it. */
  private static final class EchoServer {

    private final ServerSocket listener;
    private final Thread acceptor;
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();

    EchoServer() throws IOException {
      listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      acceptor = daemon(this::accept);
    }

    private void accept() {
      try {
        while (true) {
          Socket client = listener.accept();
          daemon(() -> echo(client));
        }
      } catch (IOException e) {
        // Closed at the end of the test.
      }
    }

    private void echo(Socket client) {
      try (client) {
        for (int b = client.getInputStream().read(); b >= 0; b = client.getInputStream().read()) {
          received.write(b);
          client.getOutputStream().write(b);
        }
      } catch (IOException e) {
        // That is what the tests are about.
      }
    }

    private static Thread daemon(Runnable task) {
      Thread thread = new Thread(task, "echo");
      thread.setDaemon(true);
      thread.start();
      return thread;
    }

    int port() {
      return listener.getLocalPort();
    }

    String received() {
      return received.toString(US_ASCII);
    }

    void close() throws Exception {
      listener.close();
      acceptor.join();
    }
  }
}
