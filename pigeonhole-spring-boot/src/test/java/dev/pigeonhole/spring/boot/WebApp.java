package dev.pigeonhole.spring.boot;

import dev.pigeonhole.support.TestDatabase;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** An application on a database, whose actuator is asked over HTTP. */
final class WebApp implements AutoCloseable {
  private final HttpClient http = HttpClient.newHttpClient();
  private final ConfigurableApplicationContext context;

  private WebApp(ConfigurableApplicationContext context) {
    this.context = context;
  }

  static WebApp run(TestDatabase database, Class<?> application, String... more) {
    List<String> properties =
        new ArrayList<>(
            List.of(
                "server.port=0",
                "spring.datasource.url=" + database.jdbcUrl(),
                "spring.datasource.username=" + database.user(),
                "spring.datasource.password=" + database.password(),
                "spring.flyway.enabled=false",
                "pigeonhole.jdbc.initialize-schema=always",
                "management.endpoints.web.exposure.include=*"));
    properties.addAll(List.of(more));
    return new WebApp(
        new SpringApplicationBuilder(application)
            .properties(properties.toArray(String[]::new))
            .run());
  }

  <T> T bean(Class<T> type) {
    return context.getBean(type);
  }

  /** What is found below {@code /actuator}. */
  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return http.send(request("/actuator/" + path).build(), BodyHandlers.ofString());
  }

  /** What a controller answers. */
  HttpResponse<String> post(String path, String idempotencyKey, String json)
      throws IOException, InterruptedException {
    return http.send(
        request(path)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", idempotencyKey)
            .POST(BodyPublishers.ofString(json))
            .build(),
        BodyHandlers.ofString());
  }

  private HttpRequest.Builder request(String path) {
    String port = context.getEnvironment().getProperty("local.server.port");
    return HttpRequest.newBuilder(URI.create("http://localhost:%s%s".formatted(port, path)));
  }

  @Override
  public void close() {
    context.close();
  }
}
