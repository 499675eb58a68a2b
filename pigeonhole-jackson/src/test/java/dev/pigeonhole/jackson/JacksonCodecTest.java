package dev.pigeonhole.jackson;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jackson.Samples.Line;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.DefaultTyping;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.jsontype.BasicPolymorphicTypeValidator;
import tools.jackson.databind.jsontype.PolymorphicTypeValidator;

class JacksonCodecTest extends CodecContract {
  private static final PayloadCodec CODEC = JacksonCodec.create();

  @Override
  PayloadCodec codec() {
    return CODEC;
  }

  @Override
  PayloadCodec codec(int maxLength) {
    return JacksonCodec.create().maxLength(maxLength);
  }

  @Test
  void writesTheSameBytesAsJackson2() {
    for (Object payload :
        List.of(
            Samples.order(),
            Samples.emptyOrder(),
            new Samples.Ping(),
            new Samples.Circle(3),
            Map.of("z", 1.5, "a", List.of(Samples.Size.LARGE)))) {
      assertThat(new String(CODEC.encode(payload), UTF_8))
          .isEqualTo(new String(Jackson2Codec.create().encode(payload), UTF_8));
    }
  }

  @Test
  void treeKeepsTheTextOfNumbers() {
    String json = "{\"a\":1.100,\"b\":12345678901234567890.0}";

    JsonNode tree = CODEC.decode(json.getBytes(UTF_8), JSON, JsonNode.class);

    assertThat(new String(CODEC.encode(tree), UTF_8)).isEqualTo(json);
  }

  @Nested
  class UsingOwnMapper {
    private final PolymorphicTypeValidator validator =
        BasicPolymorphicTypeValidator.builder().allowIfBaseType(Object.class).build();

    @Test
    void defaultTypingIsRefused() {
      for (DefaultTyping typing : DefaultTyping.values()) {
        JsonMapper mapper = JsonMapper.builder().activateDefaultTyping(validator, typing).build();

        assertThatThrownBy(() -> JacksonCodec.using(mapper))
            .isInstanceOf(ConfigurationException.class)
            .hasMessageContaining("PH-PAY-05")
            .hasMessageContaining("default typing");
      }
    }

    @Test
    void validatorIsRefused() {
      JsonMapper mapper = JsonMapper.builder().polymorphicTypeValidator(validator).build();

      assertThatThrownBy(() -> JacksonCodec.using(mapper))
          .isInstanceOf(ConfigurationException.class);
    }

    @Test
    void settingsAreKeptAndLimitsAdded() {
      JsonMapper mapper =
          JsonMapper.builder()
              .propertyNamingStrategy(PropertyNamingStrategies.UPPER_CAMEL_CASE)
              .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
              .build();
      JacksonCodec codec = JacksonCodec.using(mapper);
      String deep = "[".repeat(300) + "]".repeat(300);

      assertThat(new String(codec.encode(new Line("a", 1)), UTF_8))
          .isEqualTo("{\"Article\":\"a\",\"Count\":1}");
      assertThatThrownBy(
              () ->
                  codec.decode(
                      "{\"Article\":\"a\",\"Count\":1,\"Other\":1}".getBytes(UTF_8),
                      JSON,
                      Line.class))
          .isInstanceOf(CodecException.class)
          .hasMessageContaining("does not know the property")
          .hasMessageContaining("$.Other");
      assertThatThrownBy(() -> codec.decode(deep.getBytes(UTF_8), JSON, List.class))
          .hasMessageContaining("PH-PAY-04");
      assertThatThrownBy(() -> codec.decode("{\"a\":1,\"a\":2}".getBytes(UTF_8), JSON, Map.class))
          .hasMessageContaining("PH-PAY-03");
      assertThatThrownBy(() -> codec.decode("{} {}".getBytes(UTF_8), JSON, Map.class))
          .hasMessageContaining("PH-PAY-03");
      assertThatThrownBy(() -> codec.maxLength(5).encode(new Line("a", 1)))
          .hasMessageContaining("PH-PAY-02");
      assertThat(mapper.readValue(deep, List.class)).hasSize(1);
    }
  }
}
