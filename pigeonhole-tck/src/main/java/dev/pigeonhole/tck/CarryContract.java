package dev.pigeonhole.tck;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Headers;
import dev.pigeonhole.transport.Envelope;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What comes out of a source is what its producer put in. */
abstract class CarryContract extends SourceFixture {

  CarryContract(SourceContract contract) {
    super(contract);
  }

  @Test
  void idTypeAndContentTypeArrive() {
    start();
    send("m-1");
    awaitTaken("m-1");

    Envelope envelope = receiver.last("m-1");
    assertThat(envelope.id()).contains("m-1");
    assertThat(envelope.type()).contains("thing.happened");
    assertThat(envelope.contentType()).contains("application/json");
    assertThat(envelope.transport()).isNotBlank();
    assertThat(envelope.destination()).isNotBlank();
  }

  @Test
  void everyByteOfTheBodyArrives() {
    byte[] body = new byte[1024];
    for (int i = 0; i < body.length; i++) {
      body[i] = (byte) i;
    }
    start();
    broker.send(envelope("m-1").contentType("application/octet-stream").body(body).build());
    awaitTaken("m-1");

    assertThat(receiver.last("m-1").body()).isEqualTo(body);
  }

  /** It may refer to what only we can reach; nobody looks. */
  @Test
  void d49_xmlArrivesUnread() throws IOException {
    try (ServerSocket secret = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String text =
          "<!DOCTYPE a [<!ENTITY e SYSTEM \"http://127.0.0.1:%d/\">]><a>&e;</a>"
              .formatted(secret.getLocalPort());
      start();
      broker.send(
          envelope("m-1").contentType("application/xml").body(text.getBytes(UTF_8)).build());
      awaitTaken("m-1");

      assertThat(receiver.last("m-1").body()).asString(UTF_8).isEqualTo(text);
      secret.setSoTimeout(1);
      assertThatThrownBy(secret::accept).isInstanceOf(SocketTimeoutException.class);
    }
  }

  @Test
  void anEmptyBodyStaysEmpty() {
    start();
    broker.send(envelope("m-1").body(new byte[0]).build());
    awaitTaken("m-1");

    assertThat(receiver.last("m-1").body()).isEqualTo(new byte[0]);
  }

  @Test
  void headersArriveAsTheyWere() {
    Map<String, String> sent =
        Map.of("tenant", "acme", "x-long", "v".repeat(3_000), "x-spaced", "a b  c;=,\"q\"");
    start();
    broker.send(envelope("m-1").headers(Headers.of(sent)).build());
    awaitTaken("m-1");

    assertThat(receiver.last("m-1").headers().asMap()).containsAllEntriesOf(sent);
  }

  @Test
  void noIdIsMadeUp() {
    start();
    broker.send(envelope("").id(null).build());
    await("one to be handed in", () -> !receiver.taken().isEmpty());

    assertThat(receiver.taken().get(0).id()).isEmpty();
  }

  @Test
  void manyArriveEachOfThem() {
    int many = Size.of(300, 3_000);
    start();
    send(many);
    await("all of them", () -> receiver.taken().size() >= many);
    awaitAcknowledged();

    assertThat(receiver.ids()).doesNotHaveDuplicates().hasSize(many);
  }

  @Test
  void whatIsTooLargeIsPutAsideAndHoldsNobodyUp() {
    start();
    broker.send(envelope("huge").body(new byte[broker.tooLarge()]).build());
    send("m-1");
    awaitTaken("m-1");
    awaitAcknowledged();

    assertThat(receiver.offers("huge")).isZero();
    assertThat(broker.aside())
        .singleElement()
        .satisfies(it -> assertThat(it.reason()).startsWith("PH-PAY-02"));
  }
}
