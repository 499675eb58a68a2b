package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.List;
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

  /** By itself the guard changes nothing of how an application tells of errors. */
  @Test
  void refusedRequestsLookLikeAllErrorsOfTheApplication() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      try (WebApp app = WebApp.run(database, App.class)) {
        for (HttpResponse<String> each : refused(app)) {
          assertThat(each.headers().firstValue("Content-Type")).contains("application/json");
          assertThat(each.body())
              .contains("\"status\":" + each.statusCode(), "\"path\":\"/refunds\"")
              .doesNotContain("PH-");
        }
      }
      try (WebApp app = WebApp.run(database, App.class, "spring.mvc.problemdetails.enabled=true")) {
        List<HttpResponse<String>> refused = refused(app);
        assertThat(refused)
            .allSatisfy(
                each ->
                    assertThat(each.headers().firstValue("Content-Type"))
                        .contains("application/problem+json"));
        assertThat(refused.get(0).body()).contains("\"code\":\"PH-HTP-03\"");
        assertThat(refused.get(1).body()).contains("\"code\":\"PH-");
      }
    }
  }

  /** One with another body under the same key, and one whose key is too long. */
  private static List<HttpResponse<String>> refused(WebApp app) throws Exception {
    refund(app, "k-9", 100);
    HttpResponse<String> other = refund(app, "k-9", 999);
    assertThat(other.statusCode()).isEqualTo(422);
    HttpResponse<String> unusable = refund(app, "k".repeat(300), 100);
    assertThat(unusable.statusCode()).isEqualTo(400);
    return List.of(other, unusable);
  }

  private static HttpResponse<String> refund(WebApp app, String key, int cents)
      throws IOException, InterruptedException {
    return app.post("/refunds", key, "{\"order\":\"o-1\",\"cents\":%d}".formatted(cents));
  }
}
