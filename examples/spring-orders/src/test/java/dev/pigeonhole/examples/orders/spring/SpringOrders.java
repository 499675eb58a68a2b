package dev.pigeonhole.examples.orders.spring;

import dev.pigeonhole.support.HttpService;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The service as users start it: its own class path and nothing of the tests. */
record SpringOrders(HttpService http) implements AutoCloseable {
  static final Duration LONG = Duration.ofMinutes(10);

  private static final JsonMapper JSON = JsonMapper.shared();

  static SpringOrders on(TestDatabase database, String... more) {
    return new SpringOrders(
        new HttpService(
            port ->
                JavaProcess.of(OrdersApplication.class)
                    .classPath(classPath())
                    .heap("512m")
                    .args(
                        "--server.port=" + port,
                        "--spring.datasource.url=" + database.jdbcUrl(),
                        "--spring.datasource.username=" + database.user(),
                        "--spring.datasource.password=" + database.password())
                    .args((Object[]) more)));
  }

  /** Written by Maven before tests run. */
  static String classPath() {
    try {
      return Path.of("target/classes").toAbsolutePath()
          + File.pathSeparator
          + Files.readString(Path.of("target/runtime.classpath")).strip();
    } catch (IOException e) {
      throw new UncheckedIOException("mvn -pl examples/spring-orders -am test-compile makes it", e);
    }
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
