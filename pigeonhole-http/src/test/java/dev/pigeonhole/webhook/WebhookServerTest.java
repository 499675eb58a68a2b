package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Webhooks over real connections. */
@Timeout(600)
class WebhookServerTest {
  private static final String PATH = "/hooks/stripe";
  private static final int LIMIT = 1_000;

  private final TestClock clock = new TestClock();
  private final HttpClient client = HttpClient.newHttpClient();
  private final List<Envelope> accepted = new CopyOnWriteArrayList<>();
  private final Acceptor accepting =
      envelopes -> {
        accepted.addAll(envelopes);
        return List.of(new Disposition.Done());
      };
  private final Webhook webhook =
      Webhook.at(PATH)
          .verifiedBy(Signature.stripe(Proofs.SECRET))
          .source("stripe")
          .maxBody(LIMIT)
          .clock(clock);
  private final Logger logger = (Logger) LoggerFactory.getLogger(RefusalLog.class);
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private WebhookServer server = WebhookServer.onPort(0).serving(webhook);

  @BeforeEach
  void listen() {
    lines.start();
    logger.addAppender(lines);
  }

  @AfterEach
  void stop() {
    server.stop(ofSeconds(10));
    logger.detachAppender(lines);
  }

  private HttpRequest request(String path, String body) {
    return request(path, body, BodyPublishers.ofString(body));
  }

  private HttpRequest request(String path, String signed, BodyPublisher body) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path))
        .header("Content-Type", "application/json")
        .header("Stripe-Signature", Proofs.stripe(Proofs.SECRET, clock.now(), signed))
        .POST(body)
        .build();
  }

  private HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
    return client.send(request, BodyHandlers.ofString());
  }

  private CompletableFuture<HttpResponse<String>> sendLater(String body) {
    return client.sendAsync(request(PATH, body), BodyHandlers.ofString());
  }

  private String post(String framing) {
    return head("POST", PATH, framing);
  }

  private String head(String method, String target, String framing) {
    return method
        + " "
        + target
        + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nStripe-Signature: "
        + Proofs.stripe(Proofs.SECRET, clock.now(), Proofs.EVENT)
        + "\r\n"
        + framing
        + "\r\n";
  }

  private String whole(String method, String target) {
    return head(method, target, "Content-Length: " + Proofs.EVENT.length() + "\r\n") + Proofs.EVENT;
  }

  private static String padded(int length) {
    return Proofs.EVENT + " ".repeat(length - Proofs.EVENT.length());
  }

  private static String event(String id) {
    return Proofs.EVENT.replace("evt_1", id);
  }

  @Test
  void aRequestReachesAHandlerAndItsRepeatDoesNot() throws Exception {
    List<String> handled = new CopyOnWriteArrayList<>();
    Channel payments =
        Channel.named("payments")
            .on(byte[].class)
            .named("charge.succeeded")
            .handle("book", body -> handled.add(new String(body, UTF_8)))
            .build();
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(payments, server).build();
    RunningInbox running = inbox.start();
    try {
      assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
      assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
      assertThat(inbox.find("stripe", "evt_1", "book")).isPresent();
    } finally {
      running.close();
    }
    inbox.drain();
    assertThat(handled).containsExactly(Proofs.EVENT);
  }

  @Test
  void e19_nobodyIsAnsweredBeforeTheMessageIsAccepted() throws Exception {
    List<String> order = new CopyOnWriteArrayList<>();
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch commit = new CountDownLatch(1);
    server.start(
        envelopes -> {
          entered.countDown();
          await(commit);
          order.add("committed");
          return List.of(new Disposition.Done());
        });
    CompletableFuture<HttpResponse<String>> response = sendLater(Proofs.EVENT);
    CompletableFuture<Void> told = response.thenAccept(it -> order.add("answered"));
    await(entered);
    assertThat(response).isNotDone();
    commit.countDown();
    told.join();
    assertThat(order).containsExactly("committed", "answered");
    assertThat(response.join().statusCode()).isEqualTo(202);
  }

  @Test
  void d131_aBodyAtTheLimitIsReadAndOneByteMoreIsNot() throws Exception {
    server.start(accepting);
    assertThat(send(request(PATH, padded(LIMIT))).statusCode()).isEqualTo(202);
    assertThat(send(request(PATH, padded(LIMIT + 1))).statusCode()).isEqualTo(413);
    assertThat(accepted).hasSize(1);
  }

  @Test
  void d131_aBodyThatDoesNotTellItsLengthHasTheSameLimit() throws Exception {
    server.start(accepting);
    for (int length : List.of(LIMIT, LIMIT + 1, 50 * LIMIT)) {
      String body = padded(length);
      BodyPublisher chunked =
          BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body.getBytes(UTF_8)));
      assertThat(send(request(PATH, body, chunked)).statusCode())
          .isEqualTo(length == LIMIT ? 202 : 413);
    }
    assertThat(accepted).hasSize(1);
  }

  @Test
  void d131_aLengthOfTenGigabytesIsRefusedBeforeAnythingIsRead() throws Exception {
    server.start(accepting);
    assertThat(Wire.status(server.port(), post("Content-Length: 10000000000\r\n"))).isEqualTo(413);
  }

  @Test
  void d131_e18_whoSendsTooSlowlyIsToldAndCutOff() throws Exception {
    StoppedTimer timer = new StoppedTimer();
    server = server.timer(timer).threads(1);
    server.start(accepting);
    try (Wire wire = new Wire(server.port())) {
      wire.say(post("Content-Length: 100\r\n") + "{");
      timer.skip(); // for the head, which has arrived
      StoppedTimer.end(timer.next());
      String answer = wire.rest();
      assertThat(answer).startsWith("HTTP/1.1 408 ").contains("PH-WEB-08");
    }
    assertThat(timer.times).startsWith(ofSeconds(10), ofSeconds(10)); // unless told otherwise
    assertThat(accepted).isEmpty();
    assertThat(lines.list).isEmpty();
    // Its thread is free for others, and not interrupted.
    assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
  }

  @Test
  void d131_whoNeverEndsTheHeadIsCutOff() throws Exception {
    StoppedTimer timer = new StoppedTimer();
    server = server.timer(timer).threads(1);
    server.start(accepting);
    try (Wire wire = new Wire(server.port())) {
      wire.say("POST /hooks/stripe HTTP/1.1\r\nHost:");
      StoppedTimer.end(timer.next());
      assertThat(wire.rest()).isEmpty();
    }
    assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
  }

  @Test
  void d131_theTimeOfTheJvmCutsOffWhoSendsTooSlowly() throws Exception {
    server = server.readWithin(ofMillis(100));
    server.start(accepting);
    try (Wire wire = new Wire(server.port())) {
      wire.say("POST /hooks/stripe HTTP/1.1\r\nHost:");
      assertThat(wire.rest()).isEmpty();
    }
    server.stop(ofSeconds(10));

    AtomicInteger waits = new AtomicInteger();
    server =
        server.timer(
            (wait, time) -> {
              if (waits.incrementAndGet() == 2) { // the head has all the time that it needs
                Cut.Timer.REAL.limit(wait, time);
              }
            });
    server.start(accepting);
    try (Wire wire = new Wire(server.port())) {
      wire.say(post("Content-Length: 100\r\n") + "{");
      assertThat(wire.rest()).startsWith("HTTP/1.1 408 ");
    }
  }

  /** A pool begins a thread for every request until it has them all. */
  @Test
  void eightThreadsAnswerUnlessToldOtherwise() throws Exception {
    Set<String> threads = new HashSet<>();
    server.start(
        envelopes -> {
          synchronized (threads) {
            threads.add(Thread.currentThread().getName());
          }
          return accepting.accept(envelopes);
        });
    for (int i = 0; i < 20; i++) {
      assertThat(send(request(PATH, event("evt_1" + i))).statusCode()).isEqualTo(202);
    }
    assertThat(threads).hasSize(8);
  }

  /** Sixteen wait for each thread, and nobody is turned away. */
  @Test
  void withAllThreadsBusyAndAFullLineFurtherConnectionsWaitOutside() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch commit = new CountDownLatch(1);
    server = server.threads(1);
    server.start(blockingFor("slow", entered, commit));
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    answers.add(sendLater(event("slow")));
    await(entered);
    for (int i = 0; i < 30; i++) {
      answers.add(sendLater(event("evt_1" + i)));
    }
    Eventually.until(
        "nobody else to be let in", ofMinutes(5), WebhookServerTest::isAnyoneAtTheDoor);
    assertThat(accepted).isEmpty();

    commit.countDown();
    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      assertThat(answer.join().statusCode()).isEqualTo(202);
    }
    assertThat(accepted)
        .extracting(it -> it.id().orElseThrow())
        .hasSize(31)
        .doesNotHaveDuplicates();
  }

  /** Whether the thread that takes connections stands and waits for a place in the line. */
  private static boolean isAnyoneAtTheDoor() {
    return Thread.getAllStackTraces().values().stream()
        .anyMatch(
            calls ->
                isCalled(calls, ArrayBlockingQueue.class, "put")
                    && isCalled(calls, ThreadPoolExecutor.class, "execute"));
  }

  private static boolean isCalled(StackTraceElement[] calls, Class<?> type, String method) {
    return Stream.of(calls)
        .anyMatch(
            it -> it.getClassName().equals(type.getName()) && it.getMethodName().equals(method));
  }

  @Test
  void whoHangsUpInTheMidstOfABodyHurtsNobody() throws Exception {
    server = server.threads(1);
    server.start(accepting);
    try (Wire wire = new Wire(server.port())) {
      wire.say(post("Content-Length: 100\r\n") + "{");
    }
    assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
    assertThat(accepted).hasSize(1);
  }

  @Test
  void d133_otherMethodsAreRefused() throws Exception {
    server.start(accepting);
    for (String method : List.of("GET", "PUT", "DELETE", "HEAD", "BREW")) {
      try (Wire wire = new Wire(server.port())) {
        assertThat(wire.say(whole(method, PATH)).head())
            .startsWith("HTTP/1.1 405 ")
            .containsIgnoringCase("\r\nAllow: POST\r\n");
      }
    }
    assertThat(accepted).isEmpty();
  }

  @Test
  void d134_anAddressThatIsNotThePathLetterByLetterIsNotFound() throws Exception {
    server.start(accepting);
    for (String target :
        List.of(
            "/",
            "/hooks",
            "/hooks/",
            "/hooks/stripe/",
            "/hooks/stripe/more",
            "/hooks//stripe",
            "//hooks/stripe",
            "//localhost/hooks/stripe",
            "/hooks/../hooks/stripe",
            "/hooks/./stripe",
            "/hooks/%2e%2e/hooks/stripe",
            "/hooks/%2e/stripe",
            "/hooks/strip%65",
            "/hooks%2fstripe",
            "/HOOKS/stripe",
            "/hooks/stripe;a=b",
            "http://localhost/hooks/stripe")) {
      assertThat(Wire.answer(server.port(), whole("POST", target)))
          .as(target)
          .startsWith("HTTP/1.1 404 ")
          .endsWith("\"code\":\"PH-WEB-04\"}");
    }
    assertThat(Wire.answer(server.port(), whole("POST", "/" + "a".repeat(3_000))))
        .startsWith("HTTP/1.1 414 ")
        .endsWith("\"code\":\"PH-WEB-04\"}");
    assertThat(accepted).isEmpty();
    assertThat(Wire.status(server.port(), whole("POST", PATH + "?a=b"))).isEqualTo(202);
  }

  @Test
  void d135_aLengthThatIsToldTwiceIsRefusedAndNothingBehindItIsRead() throws Exception {
    server = server.timer(new StoppedTimer()); // nothing here ends because of a time
    server.start(accepting);
    String length = "Content-Length: " + Proofs.EVENT.length() + "\r\n";
    for (String framing :
        List.of(
            length + length,
            length + "Content-Length: 5\r\n",
            "Content-Length: 5\r\n" + length,
            length + "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\n" + length,
            "Content-Length: +59\r\n",
            "Content-Length: 59, 59\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 0x3b\r\n")) {
      try (Wire wire = new Wire(server.port())) {
        String answers = wire.say(post(framing) + Proofs.EVENT + whole("POST", PATH)).rest();
        assertThat(answers).as(framing).startsWith("HTTP/1.1 400 ").doesNotContain("HTTP/1.1 202");
      }
    }
    // Of these the server of the JDK takes one for a number, and leaves it to us.
    assertThat(Wire.answer(server.port(), post("Content-Length: +59\r\n") + Proofs.EVENT))
        .startsWith("HTTP/1.1 400 ")
        .contains("application/problem+json")
        .endsWith("\"code\":\"PH-WEB-04\"}");
    // The server of the JDK says so itself, and hangs up.
    for (String transfer :
        List.of(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: identity, chunked\r\n")) {
      try (Wire wire = new Wire(server.port())) {
        String answers = wire.say(post(transfer) + whole("POST", PATH)).rest();
        assertThat(answers)
            .as(transfer)
            .matches("(?s)HTTP/1.1 (400|501) .*")
            .doesNotContain("HTTP/1.1 202");
      }
    }
    assertThat(accepted).isEmpty();
  }

  /** The server of the JDK would read it before it hangs up. */
  @Test
  void d135_aBodyOfADoubtfulLengthIsNotWaitedForForEver() throws Exception {
    StoppedTimer timer = new StoppedTimer();
    server = server.timer(timer);
    server.start(accepting);
    try (Wire wire = new Wire(server.port())) {
      wire.say("HEAD /x HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\n");
      timer.skip(); // for the head, which has arrived
      StoppedTimer.end(timer.next());
      assertThat(wire.rest()).doesNotContain("HTTP/1.1 202");
    }
  }

  @Test
  void whatAWebhookDoesNotTakeIsInTheLogWithItsCode() throws Exception {
    server.start(accepting);
    String old = whole("POST", PATH);
    clock.advance(ofMinutes(10));
    assertThat(logged(old)).isEqualTo("401 PH-WEB-03");
    assertThat(logged(whole("POST", PATH).replace("v1=", "v1=0"))).isEqualTo("401 PH-WEB-02");
    assertThat(logged(whole("GET", PATH))).isEqualTo("405 PH-WEB-04");
    assertThat(logged(whole("POST", PATH).replace("application/json", "text/plain")))
        .isEqualTo("415 PH-WEB-04");
    assertThat(logged(post("Content-Length: +59\r\n") + Proofs.EVENT)).isEqualTo("400 PH-WEB-04");
    assertThat(logged(post("Content-Length: 10000000000\r\n"))).isEqualTo("413 PH-PAY-02");
    server.pause("too much waits");
    assertThat(logged(whole("POST", PATH))).isEqualTo("503 PH-WEB-09");
    server.resume();

    // Whatever wanders about out there is not worth a line.
    assertThat(logged(whole("POST", "/wp-login.php"))).isEqualTo("404 ");
    assertThat(logged(whole("POST", "/" + "a".repeat(3_000)))).isEqualTo("414 ");
    assertThat(logged(head("POST", "/wp-login.php", "Content-Length: +59\r\n") + Proofs.EVENT))
        .isEqualTo("400 ");
    assertThat(logged(whole("POST", PATH))).isEqualTo("202 ");
  }

  /** The status of an answer, and the codes that the log has then; a minute passes afterwards. */
  private String logged(String request) throws IOException {
    int before = lines.list.size();
    int status = Wire.status(server.port(), request);
    clock.advance(ofMinutes(1));
    return lines.list.stream()
        .skip(before)
        .map(ILoggingEvent::getFormattedMessage)
        .map(line -> line.replaceFirst("Webhook " + PATH + " did not take a request: ", ""))
        .map(line -> line.replaceFirst(": .*", ""))
        .collect(joining(",", status + " ", ""));
  }

  @Test
  void severalWebhooksShareAServer() throws Exception {
    server =
        server.serving(
            Webhook.at("/hooks/github").verifiedBy(Signature.github(Proofs.SECRET)).source("gh"));
    server.start(accepting);
    assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
    HttpRequest push =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + "/hooks/github"))
            .header("Content-Type", "application/json")
            .header("X-Hub-Signature-256", "sha256=" + Proofs.hex(Proofs.SECRET, "{}"))
            .header("X-GitHub-Delivery", "d-1")
            .header("X-GitHub-Event", "push")
            .POST(BodyPublishers.ofString("{}"))
            .build();
    assertThat(send(push).statusCode()).isEqualTo(202);
    assertThat(send(request("/hooks/github", Proofs.EVENT)).statusCode()).isEqualTo(401);
    assertThat(accepted)
        .extracting(
            it -> it.source().orElse("") + " " + it.id().orElse("") + " " + it.destination())
        .containsExactly("stripe evt_1 /hooks/stripe", "gh d-1 /hooks/github");
    assertThat(server.unverified("/hooks/github")).isEqualTo(1);
    assertThat(server.unverified(PATH)).isZero();
    assertThat(server.name()).isEqualTo("http:/hooks/stripe,/hooks/github");
  }

  @Test
  void twoSendersDoNotShareTheirIdsUnlessSomebodySaysSo() {
    WebhookServer one = server.serving(Webhook.at("/a"));
    assertThatThrownBy(() -> one.serving(Webhook.at("/b")))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageStartingWith("PH-WEB-01")
        .hasMessageContainingAll("/a", "/b", ".source(", ".sourceFromMessage()", "replace")
        .hasMessageNotContaining(PATH);
    assertThat(one.serving(Webhook.at("/b").source("stripe")).name()).endsWith(",/a,/b");
  }

  @Test
  void anyNumberOfWebhooksMayLeaveTheSourceToTheirMessages() {
    WebhookServer all =
        server
            .serving(Webhook.at("/a").sourceFromMessage())
            .serving(Webhook.at("/b").source("b").sourceFromMessage())
            .serving(Webhook.at("/c"));
    assertThat(all.name()).endsWith(",/a,/b,/c");
    assertThat(all.serving(Webhook.at("/d").sourceFromMessage().source("d")).name())
        .endsWith(",/d");
    assertThatThrownBy(() -> all.serving(Webhook.at("/e")))
        .hasMessageStartingWith("PH-WEB-01")
        .hasMessageContaining("/c and /e");
  }

  @Test
  void theLongestTimeOfRepeatsIsToldToTheInbox() {
    assertThat(server.repeatHorizon()).isEmpty();
    assertThat(
            server
                .serving(Webhook.at("/a").source("a").repeatedFor(ofDays(3)))
                .serving(Webhook.at("/b").source("b").repeatedFor(ofDays(1)))
                .repeatHorizon())
        .contains(ofDays(3));
    assertThatThrownBy(() -> webhook.repeatedFor(ofDays(366))).hasMessageStartingWith("PH-CFG-05");
  }

  @Test
  void whilePausedSendersAreAskedToComeAgain() throws Exception {
    server.start(accepting);
    server.pause("too much waits");
    HttpResponse<String> answer = send(request(PATH, Proofs.EVENT));
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(answer.headers().firstValue("Retry-After")).contains("30");
    assertThat(answer.body()).endsWith("\"status\":503,\"code\":\"PH-WEB-09\"}");
    assertThat(accepted).isEmpty();
    server.resume();
    assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
  }

  @Test
  void aRequestThatIsUnderWayEndsAlthoughTheServerIsPaused() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch commit = new CountDownLatch(1);
    server.start(blockingFor("slow", entered, commit));
    CompletableFuture<HttpResponse<String>> slow = sendLater(event("slow"));
    await(entered);
    server.pause("too much waits");
    assertThat(send(request(PATH, event("next"))).statusCode()).isEqualTo(503);
    commit.countDown();
    assertThat(slow.join().statusCode()).isEqualTo(202);
  }

  @Test
  void stoppingWaitsForWhatIsUnderWayAndTakesNothingNew() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch commit = new CountDownLatch(1);
    server.start(blockingFor("slow", entered, commit));
    int port = server.port();
    CompletableFuture<HttpResponse<String>> slow = sendLater(event("slow"));
    HttpRequest other = request(PATH, event("other"));
    await(entered);
    CompletableFuture<Void> stopped = CompletableFuture.runAsync(() -> server.stop(ofSeconds(30)));
    HttpResponse<String> refused = send(other);
    while (refused.statusCode() == 202) { // until the stop has begun
      refused = send(other);
    }
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.body()).endsWith("\"code\":\"PH-WEB-09\"}");
    assertThat(stopped).isNotDone();
    commit.countDown();
    assertThat(slow.join().statusCode()).isEqualTo(202);
    stopped.join();
    assertThatThrownBy(() -> new Wire(port)).isInstanceOf(ConnectException.class);
  }

  @Test
  void stoppingDoesNotWaitLongerThanItsPatience() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch commit = new CountDownLatch(1);
    server.start(blockingFor("slow", entered, commit));
    CompletableFuture<HttpResponse<String>> slow = sendLater(event("slow"));
    await(entered);
    server.stop(ofMillis(50));
    assertThat(slow.handle((answer, failed) -> failed != null).join()).isTrue();
    commit.countDown();
  }

  @Test
  void itCanBeStartedAgain() throws Exception {
    server.start(accepting);
    server.pause("and never resumed");
    server.stop(ofSeconds(1));
    server.stop(ofSeconds(1));
    assertThatThrownBy(server::port).isInstanceOf(IllegalStateException.class);
    server.start(accepting);
    assertThat(send(request(PATH, Proofs.EVENT)).statusCode()).isEqualTo(202);
  }

  @Test
  void onlyThisMachineReachesItUnlessToldOtherwise() throws Exception {
    server.start(accepting);
    InetAddress elsewhere = InetAddress.getByName("127.0.0.2");
    assertThatThrownBy(() -> new Socket(elsewhere, server.port()).close())
        .isInstanceOf(ConnectException.class);
  }

  @Test
  void aPortThatIsTakenIsNamed() {
    server.start(accepting);
    WebhookServer second =
        WebhookServer.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()))
            .serving(webhook);
    assertThatThrownBy(() -> second.start(accepting))
        .hasMessageStartingWith("PH-WEB-01")
        .hasMessageContaining(":" + server.port());
  }

  @Test
  void whatMakesNoSenseIsRefused() {
    assertThatThrownBy(() -> WebhookServer.onPort(0).start(accepting))
        .hasMessageStartingWith("PH-WEB-01");
    assertThatThrownBy(() -> WebhookServer.onPort(0).serving(Webhook.at("/a")).start(accepting))
        .hasMessageStartingWith("PH-WEB-01");
    assertThatThrownBy(() -> server.serving(Webhook.at(PATH))).hasMessageStartingWith("PH-WEB-01");
    assertThatThrownBy(() -> server.threads(0)).hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> server.readWithin(ofMillis(0))).hasMessageStartingWith("PH-CFG-05");
  }

  private Acceptor blockingFor(String id, CountDownLatch entered, CountDownLatch commit) {
    return envelopes -> {
      if (envelopes.get(0).id().orElse("").equals(id)) {
        entered.countDown();
        await(commit);
      }
      return accepting.accept(envelopes);
    };
  }

  private static void await(CountDownLatch latch) {
    try {
      if (!latch.await(300, TimeUnit.SECONDS)) {
        throw new AssertionError("nobody came");
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
