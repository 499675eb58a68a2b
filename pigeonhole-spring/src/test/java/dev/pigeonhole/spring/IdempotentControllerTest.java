package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.put;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabases;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.aop.framework.Advised;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.Resource;
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** What clients of guarded controllers are told, the first time and again. */
class IdempotentControllerTest {
  private static final String BODY = "{\"order\":\"o-1\",\"customer\":\"c\"}";

  public record Charged(String order, int run) {}

  @RestController
  static class Payments {
    private final JdbcTemplate jdbc;
    private volatile int runs;
    private volatile CountDownLatch entered = new CountDownLatch(0);
    private volatile CountDownLatch gate = new CountDownLatch(0);

    Payments(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    private int run(OrderPlaced order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
      return ++runs;
    }

    @PostMapping("/body")
    @IdempotentMethod(handler = "body")
    public Charged body(@RequestBody OrderPlaced order) {
      return new Charged(order.order(), run(order));
    }

    @PostMapping("/slow")
    @IdempotentMethod(handler = "slow")
    public void slow(@RequestBody OrderPlaced order) throws InterruptedException {
      run(order);
      entered.countDown();
      gate.await();
    }

    @PostMapping("/entity")
    @IdempotentMethod(handler = "entity")
    public ResponseEntity<Charged> entity(@RequestBody OrderPlaced order) {
      int run = run(order);
      return ResponseEntity.created(URI.create("/payments/" + run))
          .header("Set-Cookie", "session=" + run)
          .header("X-Run", Integer.toString(run))
          .header("Content-Language", "de")
          .header("Content-Language", "fr")
          .body(new Charged(order.order(), run));
    }

    @PostMapping("/text")
    @IdempotentMethod(handler = "text")
    public ResponseEntity<String> text(@RequestBody OrderPlaced order) {
      return ResponseEntity.status(402).contentType(MediaType.TEXT_PLAIN).body("run " + run(order));
    }

    @PostMapping("/bytes")
    @IdempotentMethod(handler = "bytes")
    public ResponseEntity<byte[]> bytes(@RequestBody OrderPlaced order) {
      return ResponseEntity.ok(new byte[] {0, (byte) run(order), -1});
    }

    @PostMapping("/accepted")
    @IdempotentMethod(handler = "accepted")
    public ResponseEntity<Void> accepted(@RequestBody OrderPlaced order) {
      run(order);
      return ResponseEntity.accepted().build();
    }

    @PostMapping("/nothing")
    @IdempotentMethod(handler = "nothing")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    public void nothing(@RequestBody OrderPlaced order) {
      run(order);
    }

    @PostMapping("/null")
    @IdempotentMethod(handler = "null")
    public Charged none(@RequestBody OrderPlaced order) {
      run(order);
      return null;
    }

    @PostMapping("/failing")
    @IdempotentMethod(handler = "failing")
    public ResponseEntity<Charged> failing(@RequestBody OrderPlaced order) {
      int run = run(order);
      return ResponseEntity.status(run < 3 ? 503 : 200)
          .header("X-Run", Integer.toString(run))
          .body(new Charged(order.order(), run));
    }

    @PostMapping("/keyed")
    @IdempotentMethod(handler = "keyed", key = "#order.order", request = "#order")
    public Charged keyed(@RequestBody OrderPlaced order) {
      return new Charged(order.order(), run(order));
    }
  }

  @RestController
  static class Accounts {
    @RequestMapping(
        path = "/accounts/{id}/charge",
        method = {RequestMethod.POST, RequestMethod.PUT})
    @IdempotentMethod(handler = "charge-account")
    public Charged charge(@PathVariable("id") String id, @RequestBody OrderPlaced order) {
      return new Charged(id, 1);
    }
  }

  @ControllerAdvice
  static class Problems extends ResponseEntityExceptionHandler {}

  private World world;
  private MockMvc mvc;

  @BeforeEach
  void start() {
    world =
        World.postgres()
            .with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class)
            .with(Payments.class, Accounts.class)
            .start();
    mvc =
        MockMvcBuilders.standaloneSetup(world.bean(Payments.class), world.bean(Accounts.class))
            .setControllerAdvice(new Problems())
            .build();
  }

  @AfterEach
  void stop() {
    world.close();
  }

  private static MockHttpServletResponse send(MockMvc mvc, String path, String key, String body)
      throws Exception {
    return send(mvc, post(path), key, body);
  }

  private static MockHttpServletResponse send(
      MockMvc mvc, MockHttpServletRequestBuilder request, String key, String body)
      throws Exception {
    request.contentType(MediaType.APPLICATION_JSON).content(body);
    return mvc.perform(key == null ? request : request.header("Idempotency-Key", key))
        .andReturn()
        .getResponse();
  }

  private MockHttpServletResponse send(String path, String key) throws Exception {
    return send(mvc, path, key, BODY);
  }

  private static void assertReplayed(MockHttpServletResponse first, MockHttpServletResponse again)
      throws Exception {
    assertThat(first.getHeader("Idempotent-Replayed")).isNull();
    assertThat(again.getHeader("Idempotent-Replayed")).isEqualTo("true");
    assertThat(again.getStatus()).isEqualTo(first.getStatus());
    assertThat(again.getContentType()).isEqualTo(first.getContentType());
    assertThat(again.getContentAsByteArray()).isEqualTo(first.getContentAsByteArray());
  }

  @Test
  void aKeyIsTakenFromTheHeaderAndTheAnswerIsReplayed() throws Exception {
    MockHttpServletResponse first = send("/body", "k-1");
    assertReplayed(first, send("/body", "\"k-1\""));
    assertThat(first.getStatus()).isEqualTo(200);
    assertThat(first.getContentAsString()).contains("\"run\":1");

    MockHttpServletResponse other = send(mvc, "/body", "k-1", BODY.replace("o-1", "o-2"));
    assertThat(other.getStatus()).isEqualTo(422);
    assertThat(other.getContentType()).isEqualTo("application/problem+json");
    assertThat(other.getContentAsString()).contains("PH-HTP-03");
    MockHttpServletResponse without = send("/body", null);
    assertThat(without.getStatus()).isEqualTo(400);
    assertThat(without.getContentAsString()).contains("PH-GRD-01");
    assertThat(world.notes()).isEqualTo(1);
  }

  /** Otherwise who charges one account would be told what was done to another. */
  @Test
  void aKeyIsForOneMethodAndPathAndQuery() throws Exception {
    String path = "/accounts/1/charge?currency=eur";
    assertReplayed(send(path, "k-1"), send(path, "k-1"));
    for (MockHttpServletRequestBuilder other :
        List.of(
            post("/accounts/2/charge?currency=eur"),
            post("/accounts/1/charge?currency=usd"),
            post("/accounts/1/charge"),
            put(path))) {
      MockHttpServletResponse answer = send(mvc, other, "k-1", BODY);
      assertThat(answer.getStatus()).isEqualTo(422);
      assertThat(answer.getContentAsString()).contains("PH-HTP-03");
    }
  }

  @Test
  void aResponseIsReplayedWithStatusAndBodyAndTheHeadersThatAreEverybodys() throws Exception {
    MockHttpServletResponse first = send("/entity", "k-1");
    MockHttpServletResponse again = send("/entity", "k-1");
    assertReplayed(first, again);
    assertThat(first.getStatus()).isEqualTo(201);
    assertThat(first.getHeader("X-Run")).isEqualTo("1");
    assertThat(first.getHeader("Set-Cookie")).isEqualTo("session=1");
    assertThat(again.getHeader("Location")).isEqualTo("/payments/1");
    assertThat(again.getHeaders("Content-Language")).containsExactly("de", "fr");
    assertThat(again.getHeader("X-Run")).isNull();
    assertThat(again.getHeader("Set-Cookie")).isNull();
    assertThat(world.notes()).isEqualTo(1);
  }

  @Test
  void textAndBytesAndNothingAreReplayedAsTheyWere() throws Exception {
    Map<String, Integer> statuses =
        Map.of("/text", 402, "/bytes", 200, "/accepted", 202, "/nothing", 204, "/null", 200);
    for (String path : statuses.keySet()) {
      MockHttpServletResponse first = send(path, "k-1");
      assertThat(first.getStatus()).as(path).isEqualTo(statuses.get(path));
      assertReplayed(first, send(path, "k-1"));
    }
    assertThat(world.notes()).isEqualTo(statuses.size());
  }

  @Test
  void anAnswerOfAFailureIsSentButRolledBackAndNotKept() throws Exception {
    for (int run = 1; run <= 2; run++) {
      MockHttpServletResponse failed = send("/failing", "k-1");
      assertThat(failed.getStatus()).isEqualTo(503);
      assertThat(failed.getHeader("X-Run")).isEqualTo(Integer.toString(run));
      assertThat(world.notes()).isZero();
    }
    MockHttpServletResponse done = send("/failing", "k-1");
    assertThat(done.getStatus()).isEqualTo(200);
    assertReplayed(done, send("/failing", "k-1"));
    assertThat(world.notes()).isEqualTo(1);
  }

  @Test
  void aKeyOfTheBodyIsToldOfInTheSameWay() throws Exception {
    assertReplayed(send("/keyed", null), send("/keyed", null));
    MockHttpServletResponse other = send(mvc, "/keyed", null, BODY.replace("\"c\"", "\"d\""));
    assertThat(other.getStatus()).isEqualTo(422);
    MockHttpServletResponse none = send(mvc, "/keyed", null, "{\"customer\":\"c\"}");
    assertThat(none.getStatus()).isEqualTo(400);
    for (String unusable : List.of(" ", "o".repeat(300), "o\\u0000", "o\\ud800")) {
      assertThat(send(mvc, "/keyed", null, BODY.replace("o-1", unusable)).getStatus())
          .as(unusable)
          .isEqualTo(400);
    }
    assertThat(world.notes()).isEqualTo(1);
  }

  @Test
  void withoutAnExceptionHandlerTheStatusIsTheSame() throws Exception {
    MockMvc plain = MockMvcBuilders.standaloneSetup(world.bean(Payments.class)).build();
    assertThat(send(plain, "/body", null, BODY).getStatus()).isEqualTo(400);
    assertThat(send(plain, "/body", "k-1", BODY).getStatus()).isEqualTo(200);
    assertThat(send(plain, "/body", "k-1", "{\"order\":\"o-2\"}").getStatus()).isEqualTo(422);
  }

  @Test
  void whileTheFirstIsRunningACopyIsToldToComeLater() throws Exception {
    Payments payments = target();
    payments.entered = new CountDownLatch(1);
    payments.gate = new CountDownLatch(1);
    CompletableFuture<MockHttpServletResponse> first =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return send("/slow", "k-1");
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
    payments.entered.await();
    MockHttpServletResponse busy = send("/slow", "k-1");
    payments.gate.countDown();
    assertThat(busy.getStatus()).isEqualTo(409);
    assertThat(busy.getHeader("Retry-After")).isEqualTo("1");
    assertThat(busy.getContentAsString()).contains("PH-GRD-04");
    assertReplayed(first.get(), send("/slow", "k-1"));
  }

  /** The object behind the proxy, which has the fields. */
  private Payments target() throws Exception {
    return (Payments) ((Advised) world.bean(Payments.class)).getTargetSource().getTarget();
  }

  @Test
  void anAnswerThatIsNoLongerKeptIsGone() throws Exception {
    send("/entity", "k-1");
    world.database.execute("DELETE FROM pigeonhole_answer");
    MockHttpServletResponse gone = send("/entity", "k-1");
    assertThat(gone.getStatus()).isEqualTo(410);
    assertThat(gone.getContentAsString()).contains("PH-HTP-04");
    assertThat(world.notes()).isEqualTo(1);
  }

  @RestController
  static class Wrong {
    @PostMapping("/a")
    @IdempotentMethod(handler = "a")
    public ResponseEntity<?> anything() {
      return ResponseEntity.ok().build();
    }

    @PostMapping("/b")
    @IdempotentMethod(handler = "b")
    public ResponseEntity<List<Charged>> list() {
      return ResponseEntity.ok(List.of());
    }

    @PostMapping("/c")
    @IdempotentMethod(handler = "c")
    @SuppressWarnings("rawtypes")
    public ResponseEntity raw() {
      return ResponseEntity.ok().build();
    }

    @PostMapping("/d")
    @IdempotentMethod(handler = "d")
    public HttpEntity<Charged> entity() {
      return new HttpEntity<>(new Charged("o", 1));
    }

    @PostMapping("/e")
    @IdempotentMethod(handler = "e")
    public Optional<Charged> optional() {
      return Optional.empty();
    }

    @PostMapping("/f")
    @IdempotentMethod(handler = "f")
    public StreamingResponseBody stream() {
      return out -> {};
    }

    @PostMapping("/g")
    @IdempotentMethod(handler = "g")
    public ResponseEntity<StreamingResponseBody> streamEntity() {
      return ResponseEntity.ok(out -> {});
    }

    @PostMapping("/h")
    @IdempotentMethod(handler = "h")
    public ResponseEntity<Resource> file() {
      return ResponseEntity.ok(new ByteArrayResource(new byte[0]));
    }

    @PostMapping("/i")
    @IdempotentMethod(handler = "i")
    public SseEmitter events() {
      return new SseEmitter();
    }
  }

  interface Refunds {
    @PostMapping("/refunds")
    Charged refund(@RequestBody OrderPlaced order);
  }

  @RestController
  static class Hidden implements Refunds {
    @Override
    @IdempotentMethod(handler = "refund")
    public Charged refund(OrderPlaced order) {
      return new Charged(order.order(), 1);
    }
  }

  @Test
  void aControllerThatSpringWouldNotSeeBehindItsProxyRefusesToStart() {
    try (World wrong = new World(TestDatabases.open(DatabaseKind.H2))) {
      wrong.with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class);
      wrong.with(Hidden.class);
      assertThat(NestedExceptionUtils.getMostSpecificCause(catchThrowable(wrong::start)))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-SPR-02: Idempotent method refund(OrderPlaced)")
          .hasMessageContaining("Let it proxy the class (proxyTargetClass = true).");
    }
  }

  @Test
  void whatCouldNotBeReadAgainRefusesToStart() {
    try (World wrong = new World(TestDatabases.open(DatabaseKind.H2))) {
      wrong.with(World.Basics.class, World.Jdbc.class, IdempotentMethodTest.WithGuard.class);
      wrong.with(Wrong.class);
      Throwable refused = NestedExceptionUtils.getMostSpecificCause(catchThrowable(wrong::start));
      assertThat(refused).isInstanceOf(ConfigurationException.class);
      assertThat(((ConfigurationException) refused).problems())
          .hasSize(9)
          .allMatch(each -> each.code().text().equals("PH-SPR-02"))
          .extracting(Problem::text)
          .satisfies(
              texts -> {
                assertThat(texts)
                    .filteredOn(text -> text.contains("as in ResponseEntity<Receipt>"))
                    .hasSize(4);
                assertThat(texts)
                    .filteredOn(text -> text.contains("which is read after it has returned"))
                    .hasSize(4);
              });
    }
  }
}
