package dev.pigeonhole.jackson;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.KeySelector;
import dev.pigeonhole.Message;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.StructuredCodec;
import dev.pigeonhole.jackson.Samples.Line;
import dev.pigeonhole.jackson.Samples.Order;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Content without a class, and what is known of the fields of a class: the same for both codecs.
 */
class TreesTest {
  private static final String JSON = "application/json";

  static Stream<StructuredCodec> codecs() {
    return Stream.of(JacksonCodec.create(), Jackson2Codec.create(), new DefaultJsonCodec());
  }

  private static Object tree(StructuredCodec codec, String json) {
    return codec.tree(json.getBytes(UTF_8), JSON);
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void contentBecomesMapsListsAndExactValues(StructuredCodec codec) {
    assertThat(tree(codec, "{\"b\":[1,null,true,\"é\"],\"a\":{\"n\":1.100}}"))
        .isEqualTo(
            Map.of(
                "a",
                Map.of("n", new BigDecimal("1.100")),
                "b",
                Arrays.asList(BigInteger.ONE, null, true, "é")));
    assertThat(tree(codec, "12345678901234567890"))
        .isEqualTo(new BigInteger("12345678901234567890"));
    assertThat(tree(codec, "0.12345678901234567890123"))
        .isEqualTo(new BigDecimal("0.12345678901234567890123"));
    assertThat(tree(codec, "null")).isNull();
  }

  @Test
  void theSettingsOfAMapperDoNotChangeTrees() {
    StructuredCodec three =
        JacksonCodec.using(
            JsonMapper.builder()
                .enable(DeserializationFeature.USE_JAVA_ARRAY_FOR_JSON_ARRAY)
                .disable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                .build());
    StructuredCodec two = Jackson2Codec.using(new ObjectMapper());

    for (StructuredCodec codec : List.of(three, two)) {
      assertThat(tree(codec, "[1,0.12345678901234567890123]"))
          .isEqualTo(List.of(BigInteger.ONE, new BigDecimal("0.12345678901234567890123")));
    }
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void treesAreHeldToTheLimitsOfTheCodec(StructuredCodec codec) {
    for (Map.Entry<String, String> bad :
        Map.of(
                "{",
                "PH-PAY-03",
                "{\"a\":1,\"a\":2}",
                "PH-PAY-03",
                "{} {}",
                "PH-PAY-03",
                "[".repeat(201) + "]".repeat(201),
                "PH-PAY-04",
                "9".repeat(101),
                "PH-PAY-04")
            .entrySet()) {
      assertThatThrownBy(() -> tree(codec, bad.getKey()))
          .isInstanceOf(CodecException.class)
          .hasMessageContaining(bad.getValue());
    }
    assertThatThrownBy(() -> codec.tree("{}".getBytes(UTF_8), "text/plain"))
        .hasMessageContaining("PH-PAY-05");
  }

  record Renamed(@JsonProperty("requested_at") Instant requestedAt, Optional<Line> first) {}

  static final class Open {
    public String known = "k";

    @JsonAnyGetter
    public Map<String, String> more() {
      return Map.of("added", "a");
    }
  }

  static final class Unwrapping {
    @JsonUnwrapped public Line line = new Line("a", 1);
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void fieldsAreKnownByTheirNamesInTheContent(StructuredCodec codec) {
    for (String path :
        List.of("id", "placed", "lines", "lines.count", "note", "sizes", "sizes.anything")) {
      assertThat(codec.mayHave(Order.class, path)).as(path).isTrue();
    }
    for (String path :
        List.of("idd", "", "id.x", "lines.price", "lines.", "placed.nano", "size.x")) {
      assertThat(codec.mayHave(Order.class, path)).as(path).isFalse();
    }
    assertThat(codec.mayHave(Renamed.class, "requested_at")).isTrue();
    assertThat(codec.mayHave(Renamed.class, "requestedAt")).isFalse();
    assertThat(codec.mayHave(Renamed.class, "first.count")).isTrue();
    assertThat(codec.mayHave(Renamed.class, "first.price")).isFalse();
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void inDoubtThereMayBeAField(StructuredCodec codec) {
    assertThat(codec.mayHave(Open.class, "added")).isTrue();
    assertThat(codec.mayHave(Unwrapping.class, "count")).isTrue();
    assertThat(codec.mayHave(Samples.Shape.class, "side")).isTrue();
    assertThat(codec.mayHave(Samples.Drawing.class, "shapes.side")).isTrue();
    assertThat(codec.mayHave(Samples.Wrapped.class, "content.x")).isTrue();
    assertThat(codec.mayHave(Map.class, "x")).isTrue();
  }

  @Test
  void namesFollowTheStrategyOfTheMapper() {
    StructuredCodec codec =
        Jackson2Codec.using(
            new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE));

    assertThat(codec.mayHave(Imported.class, "requested_at")).isTrue();
    assertThat(codec.mayHave(Imported.class, "requestedAt")).isFalse();
  }

  record Imported(String requestedAt) {}

  // What an application makes of it

  @Idempotent(except = {"requestedAt", "lines.note"})
  record ImportData(
      String source, Map<String, Integer> counts, List<Noted> lines, Instant requestedAt) {}

  record Noted(String article, String note) {}

  @Idempotent(except = "requested")
  record Misspelt(Instant requestedAt) {}

  private final Set<String> keys = new TreeSet<>();

  private Pigeonhole imports(StructuredCodec codec) {
    Channel channel =
        Channel.named("imports")
            .direct()
            .on(ImportData.class)
            .handleMessage("h", received -> keys.add(received.message().id()))
            .build();
    return Pigeonhole.of().direct(channel).codec(codec).build();
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void b21_id17_t7_theOrderOfFieldsAndMapsDoesNotMatterAndNeitherDoesWhatIsLeftOut(
      StructuredCodec codec) {
    Pigeonhole application = imports(codec);
    application.publish(
        Message.of(
            null,
            new ImportData(
                "erp",
                new java.util.LinkedHashMap<>(Map.of("a", 1, "b", 2)),
                List.of(new Noted("bread", "x")),
                Instant.EPOCH)));
    for (String json :
        List.of(
            "{\"source\":\"erp\",\"counts\":{\"b\":2,\"a\":1},\"lines\":[{\"article\":\"bread\"}]}",
            "{ \"lines\":[{\"note\":\"y\",\"article\":\"bread\"}], \"unknown\": 1,"
                + "\"requestedAt\":\"2026-03-01T00:00:00Z\",\"counts\":{\"a\":1,\"b\":2},"
                + "\"source\":\"\\u0065rp\"}")) {
      application.publish(Message.encoded(null, "ImportData", json.getBytes(UTF_8), JSON));
    }
    assertThat(keys).hasSize(1).allMatch(key -> key.matches("[0-9a-f]{64}"));

    String other =
        "{\"source\":\"crm\",\"counts\":{\"b\":2,\"a\":1},\"lines\":[{\"article\":\"bread\"}]}";
    application.publish(Message.encoded(null, "ImportData", other.getBytes(UTF_8), JSON));
    assertThat(keys).hasSize(2);
  }

  @Test
  void bothCodecsFindTheSameKey() {
    codecs()
        .forEach(
            codec ->
                imports(codec)
                    .publish(
                        Message.of(
                            null,
                            new ImportData("erp", Map.of("a", 1), List.of(), Instant.EPOCH))));

    assertThat(keys).hasSize(1);
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void b23_aFieldLeftOutThatDoesNotExistRefusesToStart(StructuredCodec codec) {
    Channel channel =
        Channel.named("imports").direct().on(Misspelt.class).handle("h", it -> {}).build();

    assertThatThrownBy(() -> Pigeonhole.of().direct(channel).codec(codec).build())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-KEY-10")
        .hasMessageContaining("'requested'");
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void aPointerFindsTheKeyOfContentThatNobodyDecodes(StructuredCodec codec) {
    Channel channel =
        Channel.named("events")
            .direct()
            .on(byte[].class)
            .named("event")
            .keyedBy(KeySelector.jsonPointer("/data/order/0/id"))
            .handleMessage("h", received -> keys.add(received.message().id()))
            .build();
    String json = "{\"data\":{\"order\":[{\"id\":4711.0}]}}";

    Pigeonhole.of()
        .direct(channel)
        .codec(codec)
        .build()
        .publish(Message.encoded(null, "event", json.getBytes(UTF_8), JSON));

    assertThat(keys).containsExactly("4711");
  }
}
