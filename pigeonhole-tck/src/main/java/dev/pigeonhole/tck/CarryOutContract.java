package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Headers;
import dev.pigeonhole.transport.Envelope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What arrives is what was sent. */
abstract class CarryOutContract extends TransportFixture {

  CarryOutContract(TransportContract contract) {
    super(contract);
  }

  @Test
  void itSaysWhatCarriesAndWhereTo() {
    assertThat(transport.kind()).matches("[a-z]+");
    assertThat(transport.destination()).isNotBlank();
  }

  @Test
  void idTypeAndContentTypeArrive() {
    sendAndConfirm(envelopes("m-1"));

    Envelope arrived = received("m-1");
    assertThat(arrived.type()).contains("thing.happened");
    assertThat(arrived.contentType()).contains("application/json");
  }

  @Test
  void everyByteOfTheBodyArrives() {
    byte[] body = new byte[1024];
    for (int i = 0; i < body.length; i++) {
      body[i] = (byte) i;
    }
    sendAndConfirm(
        List.of(envelope("m-1").contentType("application/octet-stream").body(body).build()));

    assertThat(received("m-1").body()).isEqualTo(body);
  }

  @Test
  void anEmptyBodyStaysEmpty() {
    sendAndConfirm(List.of(envelope("m-1").body(new byte[0]).build()));

    assertThat(received("m-1").body()).isEqualTo(new byte[0]);
  }

  @Test
  void correlationAndTraceContextArrive() {
    Map<String, String> sent =
        Map.of(
            "correlation-id",
            "c-17",
            "causation-id",
            "m-0",
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "tracestate",
            "vendor=a:b",
            "x-long",
            "v".repeat(3_000));
    sendAndConfirm(List.of(envelope("m-1").headers(Headers.of(sent)).build()));

    Map<String, ?> arrived = received("m-1").headers().asMap();
    sent.forEach(
        (name, value) -> assertThat(arrived.get(name)).as(name).asString().isEqualTo(value));
  }

  @Test
  void anIdOfManyLettersArrivesWhole() {
    String id = "\uD83D\uDCE6".repeat(200);
    sendAndConfirm(envelopes(id));

    assertThat(received(id).id()).contains(id);
  }

  @Test
  void whatIsSentAgainHasTheSameId() {
    sendAndConfirm(envelopes("m-1"));
    sendAndConfirm(envelopes("m-1"));
    sendAndConfirm(envelopes("last"));
    awaitReceived("last");

    assertThat(ids()).containsOnly("m-1", "last");
  }

  @Test
  void oneKeyArrivesInTheOrderItWasSent() {
    List<String> expected = new ArrayList<>();
    for (int batch = 0; batch < 10; batch++) {
      List<Envelope> together = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        String id = "m-" + (20 * batch + i);
        expected.add(id);
        together.add(envelope(id).key("customer-1").build());
      }
      sendAndConfirm(together);
    }
    await("all of them", () -> target.received().size() >= expected.size());

    assertThat(ids()).containsExactlyElementsOf(expected);
  }

  @Test
  void whatIsTooLargeIsNeverSentAndHoldsNobodyUp() {
    if (target.tooLarge().isEmpty()) {
      sendAndConfirm(List.of(envelope("large").body(new byte[1_000_000]).build()));
      assertThat(received("large").body()).hasSize(1_000_000);
      return;
    }
    byte[] body = new byte[target.tooLarge().getAsInt()];
    List<Envelope> envelopes =
        List.of(
            envelope("m-1").build(), envelope("huge").body(body).build(), envelope("m-2").build());

    Verdicts.of(send(envelopes)).areConfirmedBut(1).isOver("PH-PAY-02");
    awaitReceived("m-1", "m-2");
    assertThat(ids()).doesNotContain("huge");
  }
}
