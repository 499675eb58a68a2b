package dev.pigeonhole.examples.orders.plain;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.Overview;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Takes orders over HTTP, and tells how far they have come and how the service stands. */
final class OrderServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OrderServer.class);
  private static final int THREADS = 8;

  private final Parts parts;
  private final JsonMapper json = new JsonMapper();
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
  private final HttpServer server;

  /** What it talks to. */
  record Parts(
      OrderTables tables,
      Guard guard,
      Inbox inbox,
      RunningInbox running,
      PrometheusMeterRegistry meters) {}

  private record Answer(int status, String type, String body) {}

  @FunctionalInterface
  private interface Endpoint {
    Answer answer(HttpExchange request) throws IOException, SQLException;
  }

  private OrderServer(int port, Parts parts) throws IOException {
    this.parts = parts;
    this.server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.setExecutor(threads);
    at("/orders", request -> isPost(request) ? place(request) : json(200, parts.tables().counts()));
    at("/actuator/health", request -> health());
    at("/actuator/pigeonhole", request -> json(200, standing()));
    at("/actuator/prometheus", request -> new Answer(200, "text/plain", parts.meters().scrape()));
  }

  static OrderServer start(int port, Parts parts) throws IOException {
    OrderServer server = new OrderServer(port, parts);
    server.server.start();
    LOG.info("Listening on port {}", port);
    return server;
  }

  /**
   * The row, the message and the receipt of the order's id commit together, or not at all. So a
   * client that got no answer just sends the order again.
   */
  private Answer place(HttpExchange request) throws IOException, SQLException {
    Order order;
    try {
      order = json.readValue(request.getRequestBody().readAllBytes(), Order.class);
    } catch (JacksonException e) {
      return json(400, Map.of("error", "this is not an order"));
    }
    if (order == null || order.id() == null) { // the next time it would be no better
      return json(400, Map.of("error", "this order has no id"));
    }
    // snippet:plain-place-order
    GuardKey key = GuardKey.of("place-order", Order.class, order.id()).request(order);
    Guarded<String> result =
        parts
            .guard()
            .run(
                key,
                tx -> {
                  parts.tables().order(tx.connection(), order);
                  return tx.publish(Message.of(order.id(), order));
                });
    // end
    if (result instanceof Guarded.Busy) {
      return json(409, Map.of("error", "this order is being taken; ask again"));
    }
    if (result instanceof Guarded.Conflict) {
      return json(422, Map.of("error", "another order has this id"));
    }
    return json(202, Map.of("id", order.id()));
  }

  private Answer health() {
    boolean up = parts.running().healthy();
    return json(up ? 200 : 503, Map.of("status", up ? "UP" : "DOWN"));
  }

  /** How many deliveries each handler has before it, and how many it could not do. */
  private Map<String, Object> standing() {
    Overview overview = parts.inbox().admin().overview(Count.MOST);
    Map<String, Object> handlers = new LinkedHashMap<>();
    for (HandlerCounts each : overview.counts()) {
      handlers.put(
          each.handler(),
          Map.of("pending", each.open().value(), "poisoned", each.poisoned().value()));
    }
    return Map.of(
        parts.inbox().name(), Map.of("working", parts.running().healthy(), "handlers", handlers));
  }

  private static boolean isPost(HttpExchange request) {
    return request.getRequestMethod().equals("POST");
  }

  private Answer json(int status, Object body) {
    return new Answer(status, "application/json", json.writeValueAsString(body));
  }

  private void at(String path, Endpoint endpoint) {
    server.createContext(
        path,
        request -> {
          Answer answer;
          try {
            answer = endpoint.answer(request);
          } catch (SQLException | RuntimeException e) {
            LOG.warn("{} {} failed", request.getRequestMethod(), path, e);
            answer = json(503, Map.of("error", "not now; send it again"));
          }
          byte[] body = answer.body().getBytes(UTF_8);
          request.getResponseHeaders().set("Content-Type", answer.type());
          request.sendResponseHeaders(answer.status(), body.length);
          request.getResponseBody().write(body);
          request.close();
        });
  }

  /** Lets requests that are under way end. */
  @Override
  public void close() {
    server.stop(5);
    threads.shutdown();
  }
}
