package dev.pigeonhole.webhook;

import static dev.pigeonhole.HandlerOption.within;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Outgoing requests, as deliveries of an inbox see them. */
@Timeout(600)
class OutgoingHttpTest {
  private static final String KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  private static final String NEXT_KEY = "bmV4dCBzZWNyZXQgb2YgdGhlIHR3bw==";
  private static final InetAddress HERE = InetAddress.getLoopbackAddress();

  /** To a partner on this machine, under a name that looks public. */
  private static OutgoingHttp to(Partner partner) {
    return OutgoingHttp.create()
        .allowPorts(partner.port())
        .unsafeAllowHttp()
        .unsafeAllowPrivateAddresses()
        .resolver(host -> new InetAddress[] {HERE})
        .to(URI.create("http://partner.example:" + partner.port() + "/hooks?a=b"));
  }

  /** One delivery of a message, and how its first attempt ended. */
  private static DeliveryView deliver(MessageHandler<byte[]> handler) {
    TestInbox inbox =
        TestInbox.of(
            Channel.named("orders")
                .on(byte[].class)
                .named("order.placed")
                .handleMessage("notify-partner", handler)
                .build());
    inbox.receive(
        "orders",
        Message.encoded("m-1", "order.placed", "{\"ä\":1}".getBytes(UTF_8), "application/json"));
    inbox.drain();
    return inbox.find("m-1", "notify-partner").orElseThrow();
  }

  private static Failure failure(DeliveryView view) {
    assertThat(view.failures()).isEqualTo(1);
    return view.lastFailure().orElseThrow();
  }

  private static Failure failure(String answer) throws IOException {
    try (Partner partner = Partner.answering(answer)) {
      return failure(deliver(to(partner)));
    }
  }

  @Test
  void aMessageIsSentSignedAndCompletesWith2xx() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 204 No Content\r\n\r\n")) {
      OutgoingHttp outgoing =
          to(partner).signedWith("whsec_" + KEY, NEXT_KEY).header("Authorization", "Bearer x");
      DeliveryView view = deliver(outgoing);
      assertThat(view.state()).isEqualTo(DeliveryState.COMPLETED);

      String request = partner.requests.get(0);
      String body = new String("{\"ä\":1}".getBytes(UTF_8), ISO_8859_1);
      assertThat(request)
          .startsWith(
              "POST /hooks?a=b HTTP/1.1\r\nHost: partner.example:" + partner.port() + "\r\n")
          .contains("\r\nContent-Type: application/json\r\n", "\r\nAuthorization: Bearer x\r\n")
          .contains("\r\nContent-Length: 8\r\nConnection: close\r\n")
          .endsWith("\r\n\r\n" + body);
      for (String key : List.of(KEY, NEXT_KEY)) {
        HttpCall received = received(request);
        assertThat(
                Signature.standardWebhooks(key)
                    .judge(received, received.body(), Instant.now(), ofMinutes(5)))
            .isEqualTo(Verdict.GENUINE);
      }
    }
  }

  /** What a server would make of it. */
  private static HttpCall received(String request) {
    String[] parts = request.split("\r\n\r\n", 2);
    List<String> headers = new ArrayList<>();
    parts[0].lines().skip(1).forEach(line -> headers.addAll(List.of(line.split(": ", 2))));
    return Proofs.post(parts[1].getBytes(ISO_8859_1), headers.toArray(String[]::new));
  }

  @Test
  void theIdIsTheSameOnEveryAttempt() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 500 Oops\r\n\r\n")) {
      TestInbox inbox =
          TestInbox.of(
              Channel.named("orders")
                  .on(byte[].class)
                  .handleMessage("notify-partner", to(partner))
                  .build());
      inbox.receive("m-1", new byte[0]);
      inbox.drain();
      inbox.advance(ofMinutes(10)).drain();
      assertThat(partner.requests).hasSize(2);
      assertThat(partner.requests)
          .extracting(request -> request.replaceAll("(?s).*\r\n(webhook-id: [^\r]*)\r\n.*", "$1"))
          .allSatisfy(id -> assertThat(id).matches("webhook-id: [0-9a-f-]{36}"))
          .containsOnly(
              partner.requests.get(0).replaceAll("(?s).*\r\n(webhook-id: [^\r]*)\r\n.*", "$1"));
    }
  }

  @Test
  void answersThatMeanNotNowFailTheAttempt() throws Exception {
    for (int status : List.of(408, 429, 500, 502, 503)) {
      Failure failure = failure("HTTP/1.1 " + status + " x\r\n\r\n");
      assertThat(failure.code()).isEqualTo(ErrorCode.EXCHANGE_FAILED);
      assertThat(failure.message()).contains("partner.example", "" + status);
    }
  }

  @Test
  void retryAfterIsKeptToWithinBounds() throws Exception {
    assertThat(wait("Retry-After: 120")).isEqualTo(ofSeconds(120));
    assertThat(wait("retry-after:  0 ")).isEqualTo(ofSeconds(1));
    assertThat(wait("Retry-After: 999999999")).isEqualTo(Duration.ofHours(1));
    assertThat(wait("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT")).isEqualTo(ofSeconds(1));
    assertThat(wait("Retry-After: Tue, 31 Dec 2199 23:59:59 GMT")).isEqualTo(Duration.ofHours(1));
  }

  private static Duration wait(String header) throws IOException {
    try (Partner partner = Partner.answering("HTTP/1.1 503 x\r\n" + header + "\r\n\r\n")) {
      OutgoingHttp outgoing = to(partner);
      List<Throwable> reasons = new ArrayList<>();
      DeliveryView view =
          deliver(
              received -> {
                try {
                  outgoing.handle(received);
                } catch (RetryLaterException e) {
                  reasons.addAll(List.of(e.getSuppressed()));
                  throw e;
                }
              });
      assertThat(failure(view).code()).isEqualTo(ErrorCode.HANDLER_LATER);
      assertThat(reasons)
          .singleElement()
          .satisfies(it -> assertThat(it).hasMessageContainingAll("PH-WEB-10", "503"));
      return Duration.between(TestClock.START, view.due().orElseThrow());
    }
  }

  @Test
  void aRetryAfterThatCannotBeReadIsNone() throws Exception {
    assertThat(failure("HTTP/1.1 503 x\r\nRetry-After: soon\r\n\r\n").code())
        .isEqualTo(ErrorCode.EXCHANGE_FAILED);
  }

  @Test
  void whatTheOtherSideWillNeverTakeIsPoisoned() throws Exception {
    for (int status : List.of(400, 401, 404, 410, 422)) {
      try (Partner partner = Partner.answering("HTTP/1.1 " + status + " x\r\n\r\n")) {
        assertThat(deliver(to(partner)).state()).isEqualTo(DeliveryState.POISONED);
      }
    }
  }

  @Test
  void d140_redirectsAreNotFollowed() throws Exception {
    for (int status : List.of(301, 302, 303, 307, 308)) {
      try (Partner partner =
          Partner.answering(
              "HTTP/1.1 " + status + " x\r\nLocation: http://169.254.169.254/\r\n\r\n")) {
        assertThat(failure(deliver(to(partner))).code()).isEqualTo(ErrorCode.REDIRECTED);
        assertThat(partner.requests).hasSize(1);
      }
    }
  }

  @Test
  void d140_aRedirectToItselfIsNotFollowed() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 302 x\r\nLocation: /hooks?a=b\r\n\r\n")) {
      assertThat(failure(deliver(to(partner))).code()).isEqualTo(ErrorCode.REDIRECTED);
      assertThat(partner.requests).hasSize(1);
    }
  }

  @Test
  void d139_sc12_theHostIsLookedUpOnceAndTheSecondAnswerIsNeverUsed() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 200 OK\r\n\r\n")) {
      List<String> asked = new ArrayList<>();
      Iterator<InetAddress> answers = List.of(HERE, InetAddress.getByName("10.0.0.1")).iterator();
      DeliveryView view =
          deliver(
              to(partner)
                  .resolver(
                      host -> {
                        asked.add(host);
                        return new InetAddress[] {answers.next()};
                      }));
      assertThat(view.state()).isEqualTo(DeliveryState.COMPLETED);
      assertThat(asked).containsExactly("partner.example");
    }
  }

  @Test
  void d139_aNameOfAnAddressThatIsNotPublicIsRefusedWhenItIsLookedUp() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 200 OK\r\n\r\n")) {
      OutgoingHttp guarded =
          OutgoingHttp.create()
              .allowPorts(partner.port())
              .unsafeAllowHttp()
              .to(URI.create("http://partner.example:" + partner.port() + "/"))
              .resolver(host -> new InetAddress[] {HERE});
      assertThat(failure(deliver(guarded)).code()).isEqualTo(ErrorCode.ADDRESS_REFUSED);
      assertThat(partner.requests).isEmpty();
    }
  }

  @Test
  void aHostOfTheOwnNetworkIsReachedWhereThatIsAllowed() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 200 OK\r\n\r\n")) {
      URI inside = URI.create("http://localhost:" + partner.port() + "/");
      OutgoingHttp open = OutgoingHttp.create().allowPorts(partner.port()).unsafeAllowHttp();

      assertThatThrownBy(() -> open.to(inside)).hasMessageContaining("PH-WEB-06");
      deliver(
          open.unsafeAllowPrivateAddresses().resolver(host -> new InetAddress[] {HERE}).to(inside));
      assertThat(partner.requests).hasSize(1);
    }
  }

  @Test
  void withoutAnAddressNothingIsSent() {
    assertThat(failure(deliver(OutgoingHttp.create())).message()).contains(".to(");
  }

  @Test
  void d141_anEndlessAnswerIsNotRead() throws Exception {
    CountDownLatch cut = new CountDownLatch(1);
    try (Partner partner =
        Partner.answering(
            out -> {
              out.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n".getBytes(US_ASCII));
              try {
                while (true) {
                  out.write(new byte[100_000]);
                }
              } catch (IOException e) {
                cut.countDown();
              }
            })) {
      assertThat(deliver(to(partner)).state()).isEqualTo(DeliveryState.COMPLETED);
      cut.await();
    }
  }

  @Test
  void d141_anEndlessHeadIsCut() throws Exception {
    try (Partner partner =
        Partner.answering(
            out -> {
              out.write("HTTP/1.1 200 OK\r\n".getBytes(US_ASCII));
              while (true) {
                out.write("X-More: and more\r\n".getBytes(US_ASCII));
              }
            })) {
      assertThat(failure(deliver(to(partner))).code()).isEqualTo(ErrorCode.EXCHANGE_FAILED);
    }
  }

  @Test
  void whatIsNoHttpFailsTheAttempt() throws Exception {
    for (String answer :
        List.of("", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 999 x\r\n\r\n", "HTTP/1.1 200 OK\r\nX: y")) {
      assertThat(failure(answer).code()).isEqualTo(ErrorCode.EXCHANGE_FAILED);
    }
  }

  @Test
  void answersOnTheWayAreNotTheAnswer() throws Exception {
    try (Partner partner =
        Partner.answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")) {
      assertThat(deliver(to(partner)).state()).isEqualTo(DeliveryState.COMPLETED);
    }
  }

  @Test
  void whoDoesNotAnswerInTimeIsLeft() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    try (Partner partner = Partner.answering(out -> await(done))) {
      assertThat(failure(deliver(to(partner).timeout(ofMillis(200)))).code())
          .isEqualTo(ErrorCode.EXCHANGE_FAILED);
      done.countDown();
    }
  }

  @Test
  void whoDoesNotReadIsLeftInTheMidstOfSending() throws Exception {
    try (ServerSocket deaf = new ServerSocket(0, 1, HERE)) {
      OutgoingHttp outgoing =
          OutgoingHttp.create()
              .allowPorts(deaf.getLocalPort())
              .unsafeAllowHttp()
              .unsafeAllowPrivateAddresses()
              .resolver(host -> new InetAddress[] {HERE})
              .timeout(ofMillis(300))
              .to(URI.create("http://partner.example:" + deaf.getLocalPort() + "/"));
      TestInbox inbox =
          TestInbox.of(
              Channel.named("orders")
                  .on(byte[].class)
                  .handleMessage(
                      "notify-partner", order -> outgoing.send(order, new byte[30_000_000]))
                  .build());
      inbox.receive("m-1", new byte[0]);
      inbox.drain();
      assertThat(failure(inbox.find("m-1", "notify-partner").orElseThrow()).code())
          .isEqualTo(ErrorCode.EXCHANGE_FAILED);
    }
  }

  @ParameterizedTest(name = "tls: {0}")
  @ValueSource(booleans = {false, true})
  void aRefusalIsHeardAlthoughTheBodyCouldNotBeSent(boolean tls) throws Exception {
    DeliveryView view = answeredEarly(413, tls);
    assertThat(view.state()).isEqualTo(DeliveryState.POISONED);
    assertThat(failure(view).message()).contains("413");
  }

  @Test
  void whoSaysYesBeforeTheBodyWasSentHasNotTakenIt() throws Exception {
    DeliveryView view = answeredEarly(200, false);
    assertThat(failure(view).code()).isEqualTo(ErrorCode.EXCHANGE_FAILED);
  }

  /** The body is larger than what the network takes while nobody reads. */
  private static DeliveryView answeredEarly(int status, boolean tls) throws Exception {
    SSLContext context = context();
    ServerSocket listening =
        tls
            ? context.getServerSocketFactory().createServerSocket(0, 50, HERE)
            : new ServerSocket(0, 50, HERE);
    listening.setReceiveBufferSize(10_000);
    String answer = "HTTP/1.1 " + status + " x\r\n\r\n";
    try (Partner partner =
        Partner.impatient(listening, out -> out.write(answer.getBytes(US_ASCII)))) {
      OutgoingHttp outgoing = to(partner).tls(context.getSocketFactory()).timeout(ofMinutes(5));
      URI address =
          URI.create((tls ? "https" : "http") + "://partner.example:" + partner.port() + "/");
      return deliver(order -> outgoing.to(address).send(order, new byte[30_000_000]));
    }
  }

  @Test
  void aHostThatIsNotKnownOrDoesNotListenFailsTheAttempt() throws Exception {
    Partner partner = Partner.answering("");
    OutgoingHttp outgoing = to(partner);
    partner.close();
    assertThat(failure(deliver(outgoing)).code()).isEqualTo(ErrorCode.EXCHANGE_FAILED);
    OutgoingHttp unknown =
        outgoing.resolver(
            host -> {
              throw new UnknownHostException(host);
            });
    assertThat(failure(deliver(unknown)).code()).isEqualTo(ErrorCode.EXCHANGE_FAILED);
  }

  @Test
  void theNextAddressIsTriedWhenTheFirstDoesNotListen() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 200 OK\r\n\r\n")) {
      InetAddress nobody = InetAddress.getByName("127.0.0.2");
      assertThat(deliver(to(partner).resolver(host -> new InetAddress[] {nobody, HERE})).state())
          .isEqualTo(DeliveryState.COMPLETED);
    }
  }

  /** Linux drops who comes to a line that is full, so that one waits without an answer. */
  @Test
  void anAddressThatIsSilentLeavesTheNextOneTime() throws Exception {
    InetAddress silent = InetAddress.getByName("127.0.0.2");
    List<SocketChannel> line = new ArrayList<>();
    try (Partner partner = Partner.answering("HTTP/1.1 200 OK\r\n\r\n");
        ServerSocket full = new ServerSocket(partner.port(), 1, silent)) {
      for (int i = 0; i < 10; i++) {
        SocketChannel next = SocketChannel.open();
        line.add(next);
        next.configureBlocking(false);
        next.connect(full.getLocalSocketAddress());
      }
      assertThat(line.get(9).finishConnect()).isFalse();
      OutgoingHttp outgoing =
          to(partner).timeout(ofSeconds(10)).resolver(host -> new InetAddress[] {silent, HERE});
      // Half of the time passes with the silent one: on a busy machine, further attempts help.
      Eventually.passes(
          ofMinutes(3),
          () -> assertThat(deliver(outgoing).state()).isEqualTo(DeliveryState.COMPLETED));
    } finally {
      for (SocketChannel each : line) {
        each.close();
      }
    }
  }

  @Test
  void e22_proxiesOfTheEnvironmentAreNotAsked() throws Exception {
    List<URI> asked = new CopyOnWriteArrayList<>();
    ProxySelector before = ProxySelector.getDefault();
    ProxySelector.setDefault(
        new ProxySelector() {
          @Override
          public List<Proxy> select(URI uri) {
            asked.add(uri);
            return List.of(new Proxy(Proxy.Type.SOCKS, new InetSocketAddress(HERE, 9)));
          }

          @Override
          public void connectFailed(URI uri, SocketAddress address, IOException e) {}
        });
    try (Partner partner = Partner.answering("HTTP/1.1 200 OK\r\n\r\n")) {
      assertThat(deliver(to(partner)).state()).isEqualTo(DeliveryState.COMPLETED);
      assertThat(partner.requests).hasSize(1);
    } finally {
      ProxySelector.setDefault(before);
    }
    assertThat(asked).isEmpty();
  }

  /** Many such addresses are secrets. */
  @Test
  void noFailureTellsThePath() throws Exception {
    List<Failure> failures = new ArrayList<>();
    for (String answer :
        List.of(
            "",
            "HTTP/1.1 302 x\r\nLocation: /\r\n\r\n",
            "HTTP/1.1 422 x\r\n\r\n",
            "HTTP/1.1 500 x\r\n\r\n",
            "HTTP/1.1 503 x\r\nRetry-After: 120\r\n\r\n")) {
      try (Partner partner = Partner.answering(answer)) {
        failures.add(failure(deliver(to(partner).to(secret(partner)))));
      }
    }
    Partner gone = Partner.answering("");
    gone.close();
    failures.add(failure(deliver(to(gone).to(secret(gone)))));
    OutgoingHttp guarded = OutgoingHttp.create().resolver(host -> new InetAddress[] {HERE});
    failures.add(failure(deliver(guarded.to(URI.create("https://partner.example/s3cret")))));

    assertThat(failures)
        .extracting(Failure::code)
        .containsExactly(
            ErrorCode.EXCHANGE_FAILED,
            ErrorCode.REDIRECTED,
            ErrorCode.HANDLER_POISONED,
            ErrorCode.EXCHANGE_FAILED,
            ErrorCode.HANDLER_LATER,
            ErrorCode.EXCHANGE_FAILED,
            ErrorCode.ADDRESS_REFUSED);
    assertThat(failures)
        .extracting(each -> each.message() + each.stack())
        .noneMatch(text -> text.contains("s3cret"));
    assertThat(failures)
        .filteredOn(each -> each.code() != ErrorCode.HANDLER_LATER) // it has no text of its own
        .allMatch(each -> each.message().contains("partner.example"));
  }

  private static URI secret(Partner partner) {
    return URI.create("http://partner.example:%d/s3cret?k=s3cret".formatted(partner.port()));
  }

  @Test
  void aHandlerThatHasLessTimeLeftWaitsNoLonger() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    List<String> told = new CopyOnWriteArrayList<>();
    try (Partner partner = Partner.answering(out -> await(done))) {
      OutgoingHttp outgoing = to(partner).timeout(ofSeconds(30));
      TestInbox inbox =
          TestInbox.of(
              Channel.named("orders")
                  .on(byte[].class)
                  .handleMessage(
                      "notify-partner",
                      order -> {
                        try {
                          outgoing.handle(order);
                        } catch (InboxException e) {
                          told.add(e.getMessage());
                          throw e;
                        }
                      },
                      within(ofMillis(300)))
                  .build());
      inbox.receive("m-1", new byte[0]);
      inbox.drain();
      done.countDown();
    }
    assertThat(told)
        .singleElement()
        .asString()
        .startsWith("PH-WEB-10")
        .doesNotContain(ofSeconds(30).toString());
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void e22_tlsChecksTheNameAlthoughTheAddressIsPinned() throws Exception {
    SSLContext context = context();
    ServerSocket listening = context.getServerSocketFactory().createServerSocket(0, 50, HERE);
    try (Partner partner =
        Partner.on(listening, out -> out.write("HTTP/1.1 200 OK\r\n\r\n".getBytes(US_ASCII)))) {
      OutgoingHttp outgoing =
          OutgoingHttp.create()
              .allowPorts(partner.port())
              .unsafeAllowPrivateAddresses()
              .resolver(host -> new InetAddress[] {HERE})
              .to(URI.create("https://partner.example:" + partner.port() + "/"));
      assertThat(deliver(outgoing.tls(context.getSocketFactory())).state())
          .isEqualTo(DeliveryState.COMPLETED);
      assertThat(failure(deliver(outgoing)).message()).contains("SSLHandshake"); // not trusted
      OutgoingHttp other =
          outgoing
              .tls(context.getSocketFactory())
              .to(URI.create("https://other.example:" + partner.port() + "/"));
      assertThat(failure(deliver(other)).stack()).contains("other.example");
      assertThat(partner.requests).hasSize(1);
    }
  }

  /** A certificate for partner.example that nobody else trusts. */
  private static SSLContext context() throws IOException, GeneralSecurityException {
    char[] password = "changeit".toCharArray();
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = OutgoingHttpTest.class.getResourceAsStream("partner.p12")) {
      store.load(in, password);
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(store, password);
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("partner", store.getCertificate("partner"));
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  @Test
  void e32_choicesThatAreNotSafeAreInTheLog() {
    Logger logger = (Logger) LoggerFactory.getLogger(OutgoingHttp.class);
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    logger.addAppender(lines);
    try {
      OutgoingHttp.post(URI.create("https://partner.example/"))
          .unsafeAllowHttp()
          .unsafeAllowPrivateAddresses();
    } finally {
      logger.detachAppender(lines);
    }
    assertThat(lines.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .hasSize(2)
        .allMatch(line -> line.endsWith("(unsafe)"));
  }

  @Test
  void optionsThatMakeNoSenseAreRefused() {
    OutgoingHttp outgoing = OutgoingHttp.post(URI.create("https://partner.example/"));
    for (String name : List.of("", "a b", "a\r\nb", "Host", "content-length", "Webhook-Id")) {
      assertThatThrownBy(() -> outgoing.header(name, "x"))
          .as(name)
          .hasMessageStartingWith("PH-WEB-01");
    }
    assertThatThrownBy(() -> outgoing.header("X", "a\r\nHost: b"))
        .hasMessageStartingWith("PH-WEB-01");
    assertThatThrownBy(() -> outgoing.contentType("a\nb")).hasMessageStartingWith("PH-WEB-01");
    assertThatThrownBy(() -> outgoing.timeout(ofMillis(0))).hasMessageStartingWith("PH-CFG-05");
    assertThatThrownBy(() -> outgoing.signedWith("whsec_AAAA")).hasMessageStartingWith("PH-WEB-01");
  }
}
