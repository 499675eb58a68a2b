package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** A controller whose methods run once, in a web server. */
class IdempotentWebTest {

  record Refund(String order, int cents) {}

  record Refunded(String order, int run) {}

  /** As generators write it: what is mapped, and what is the body, stands here alone. */
  interface RefundApi {
    @PostMapping("/refunds")
    Refunded refund(@RequestBody Refund refund);
  }

  @RestController
  static class Refunds implements RefundApi {
    private final AtomicInteger runs = new AtomicInteger();

    @Override
    @IdempotentMethod(handler = "refund")
    public Refunded refund(Refund refund) {
      return new Refunded(refund.order(), runs.incrementAndGet());
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Refunds.class)
  static class App {}

  @Test
  void aControllerThatImplementsAnInterfaceAnswersOnceForEachKeyAndBody() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2);
        WebApp app = WebApp.run(database, App.class)) {
      HttpResponse<String> first = refund(app, "k-1", 100);
      assertThat(first.statusCode()).isEqualTo(200);
      HttpResponse<String> again = refund(app, "k-1", 100);
      assertThat(again.body()).isEqualTo(first.body()).contains("\"run\":1");
      assertThat(again.headers().firstValue("Idempotent-Replayed")).contains("true");

      assertThat(refund(app, "k-1", 999).statusCode()).as("another body").isEqualTo(422);
      assertThat(refund(app, "k".repeat(300), 100).statusCode()).as("too long").isEqualTo(400);
      assertThat(refund(app, " ", 100).statusCode()).as("blank").isEqualTo(400);
      assertThat(refund(app, "k-2", 100).body()).contains("\"run\":2");
    }
  }

  private static HttpResponse<String> refund(WebApp app, String key, int cents)
      throws IOException, InterruptedException {
    return app.post("/refunds", key, "{\"order\":\"o-1\",\"cents\":%d}".formatted(cents));
  }
}
