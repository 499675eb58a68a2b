package dev.pigeonhole.examples.orders.spring;

import dev.pigeonhole.support.HttpService;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The service as users start it: the executable jar, and nothing of the tests. */
record SpringOrders(HttpService http) implements AutoCloseable {
  static final Duration LONG = Duration.ofMinutes(10);

  private static final JsonMapper JSON = JsonMapper.shared();

  static SpringOrders on(TestDatabase database, String... more) {
    Path jar = ExecutableJar.current();
    return new SpringOrders(
        new HttpService(
            port ->
                JavaProcess.ofJar(jar)
                    .heap("512m")
                    .args(
                        "--server.port=" + port,
                        "--spring.datasource.url=" + database.jdbcUrl(),
                        "--spring.datasource.username=" + database.user(),
                        "--spring.datasource.password=" + database.password())
                    .args((Object[]) more)));
  }

  void start(Object... more) {
    http.start("/actuator/health/readiness", more);
  }

  JsonNode counts() throws IOException, InterruptedException {
    return json("/orders");
  }

  /** How the inbox stands, by its endpoint. */
  JsonNode inbox() throws IOException, InterruptedException {
    return json("/actuator/pigeonhole").path("inbox");
  }

  /** What the endpoint says of a handler: how many deliveries are in this state. */
  long deliveries(String handler, String state) throws IOException, InterruptedException {
    JsonNode of = inbox().path("handlers").path(handler).path(state);
    return of.isIntegralNumber() ? of.asLong() : -1;
  }

  /** What the endpoint says of the outbox: how many orders have not gone out yet. */
  long toSend() throws IOException, InterruptedException {
    return json("/actuator/pigeonhole").at("/outbox/handlers/Order/pending").asLong(-1);
  }

  JsonNode json(String path) throws IOException, InterruptedException {
    return JSON.readTree(http.get(path).body());
  }

  String prometheus() throws IOException, InterruptedException {
    return http.get("/actuator/prometheus").body();
  }

  @Override
  public void close() {
    http.close();
  }
}
