package dev.pigeonhole.examples;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.pigeonhole.Guard;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.http.IdempotentEndpoint;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.sql.DataSource;

/**
 * A payment service calls a webhook, and calls it again whenever it is not sure. The payment is
 * booked once, and each call gets the same answer. The server is that of the JDK; with any other,
 * only {@link #serve} looks different.
 */
public final class PaymentWebhook {

  private static final System.Logger LOG = System.getLogger(PaymentWebhook.class.getName());

  private final IdempotentEndpoint webhook;

  private PaymentWebhook(Guard guard) {
    // snippet:http-endpoint
    IdempotentEndpoint webhook =
        IdempotentEndpoint.named("payment-webhook", guard)
            .header("Webhook-Id") // what this service calls its key
            .keepingHeaders("ETag");
    // end
    this.webhook = webhook;
  }

  public static void main(String[] args) throws Exception {
    run(ExampleDatabase.open(args, "webhook")).forEach(System.out::println);
  }

  /** Answers what the payment service was told. */
  static List<String> run(DataSource database) throws Exception {
    Schema.migrate(database);
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE IF NOT EXISTS booking (payment varchar(40), cents bigint)");
    }
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try (Guard guard = Guard.on(JdbcStore.of(database)).build()) {
      PaymentWebhook webhook = new PaymentWebhook(guard);
      server.createContext("/payments", webhook::serve);
      server.setExecutor(threads);
      server.start();
      URI address =
          URI.create("http://127.0.0.1:%d/payments".formatted(server.getAddress().getPort()));
      List<String> told = new ArrayList<>();
      told.add(call(address, "evt-1", "p-1 999"));
      told.add(call(address, "evt-1", "p-1 999")); // it did not hear the answer
      told.add(call(address, "evt-1", "p-1 111")); // it made a mistake
      told.add(call(address, "", "p-2 500"));
      told.add(call(address, "evt-3", "p-3 much"));
      return told;
    } finally {
      server.stop(0);
      threads.shutdown();
    }
  }

  // snippet:http-server
  private void serve(HttpExchange exchange) throws IOException {
    HttpCall call =
        new HttpCall(
            exchange.getRequestMethod(),
            exchange.getRequestURI().toString(),
            exchange.getRequestHeaders(),
            exchange.getRequestBody().readAllBytes());
    HttpAnswer answer;
    try {
      answer = webhook.handle(call, tx -> book(tx.connection(), call));
    } catch (SQLException | RuntimeException e) {
      LOG.log(Level.WARNING, "A payment was not booked", e);
      answer = HttpAnswer.of(503); // nothing was booked, or a repeat finds out
    }
    byte[] body = answer.body();
    exchange.getResponseHeaders().putAll(answer.headers());
    exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
    if (body.length > 0) {
      exchange.getResponseBody().write(body);
    }
    exchange.close();
  }

  private static HttpAnswer book(Connection connection, HttpCall call) throws SQLException {
    String text = new String(call.body(), StandardCharsets.UTF_8);
    if (!text.matches("\\S{1,40} [0-9]{1,18}")) {
      return HttpAnswer.of(400, "text/plain", "send a payment and its cents"); // kept, too
    }
    String[] payment = text.split(" ", 2);
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO booking VALUES (?, ?)")) {
      insert.setString(1, payment[0]);
      insert.setLong(2, Long.parseLong(payment[1]));
      insert.executeUpdate();
    }
    return HttpAnswer.of(201, "text/plain", "booked " + payment[0]);
  }

  // end

  private static String call(URI address, String id, String payment)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(address).POST(HttpRequest.BodyPublishers.ofString(payment));
    if (!id.isEmpty()) {
      request.header("Webhook-Id", id);
    }
    HttpResponse<String> response =
        HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
    boolean replayed = response.headers().map().containsKey("idempotent-replayed");
    return "%d%s %s".formatted(response.statusCode(), replayed ? " again" : "", response.body());
  }
}
