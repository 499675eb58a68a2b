package dev.pigeonhole.outbox;

import static dev.pigeonhole.outbox.Office.ONCE;
import static dev.pigeonhole.outbox.Office.PATIENCE;
import static dev.pigeonhole.outbox.Office.POSTGRES;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.transport.Transport;
import dev.pigeonhole.webhook.OutgoingHttp;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** An other side that takes its time is not one that is down. */
class SlowPartnerTest {
  private static final int MANY = 120;

  private final CountDownLatch never = new CountDownLatch(1);

  private void take(HttpExchange exchange) throws IOException {
    try (exchange) {
      exchange.getRequestBody().readAllBytes();
      boolean unused = never.await(200, TimeUnit.MILLISECONDS);
      exchange.sendResponseHeaders(204, -1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Transport transport(int port) {
    return OutgoingHttp.create()
        .allowPorts(port)
        .unsafeAllowHttp()
        .unsafeAllowPrivateAddresses()
        .to(URI.create("http://127.0.0.1:" + port + "/hooks"))
        .transport();
  }

  /** They take 24 s, and one call begins requests for 10 s. */
  @ParameterizedTest
  @MethodSource(POSTGRES)
  void whatItHasNoTimeForGoesOutLaterAndNothingIsCounted(TestDatabase database) throws Exception {
    Office office = Office.in(database);
    HttpServer partner =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
    ExecutorService threads = Executors.newCachedThreadPool();
    partner.createContext("/hooks", this::take);
    partner.setExecutor(threads);
    partner.start();
    List<InboxEvent> told = new CopyOnWriteArrayList<>();
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, transport(partner.getAddress().getPort()))
            .concurrency(1)
            .sendTimeout(Duration.ofSeconds(20))
            .retry(ONCE)
            .listener(told::add)
            .build();
    office.commit(
        connection ->
            outbox.publish(connection, IntStream.range(0, MANY).mapToObj(Office::order).toList()));
    try (RunningInbox running = outbox.start()) {
      Eventually.until(
          "all to be sent or poisoned",
          PATIENCE,
          () ->
              running.healthy()
                  && count(told, InboxEvent.Completed.class)
                          + count(told, InboxEvent.Poisoned.class)
                      == MANY);
    } finally {
      partner.stop(0);
      threads.shutdownNow();
    }

    assertThat(count(told, InboxEvent.Completed.class)).isEqualTo(MANY);
    assertThat(told)
        .noneMatch(InboxEvent.Failed.class::isInstance)
        .noneMatch(InboxEvent.HandlerPaused.class::isInstance);
  }

  private static long count(List<InboxEvent> told, Class<? extends InboxEvent> which) {
    return told.stream().filter(which::isInstance).count();
  }
}
