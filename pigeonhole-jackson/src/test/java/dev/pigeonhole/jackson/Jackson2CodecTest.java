package dev.pigeonhole.jackson;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.jsontype.BasicPolymorphicTypeValidator;
import com.fasterxml.jackson.databind.jsontype.PolymorphicTypeValidator;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jackson.Samples.Line;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class Jackson2CodecTest extends CodecContract {
  private static final PayloadCodec CODEC = Jackson2Codec.create();

  @Override
  PayloadCodec codec() {
    return CODEC;
  }

  @Override
  PayloadCodec codec(int maxLength) {
    return Jackson2Codec.create().maxLength(maxLength);
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
      for (ObjectMapper.DefaultTyping typing : ObjectMapper.DefaultTyping.values()) {
        ObjectMapper mapper = new ObjectMapper().activateDefaultTyping(validator, typing);

        assertThatThrownBy(() -> Jackson2Codec.using(mapper))
            .isInstanceOf(ConfigurationException.class)
            .hasMessageContaining("PH-PAY-05")
            .hasMessageContaining("default typing");
      }
    }

    @Test
    void validatorIsRefused() {
      ObjectMapper mapper = new ObjectMapper().setPolymorphicTypeValidator(validator);

      assertThatThrownBy(() -> Jackson2Codec.using(mapper))
          .isInstanceOf(ConfigurationException.class);
    }

    @Test
    void mapperOfAnotherFormatIsRefused() {
      JsonFactory other =
          new JsonFactory() {
            @Override
            public String getFormatName() {
              return "CBOR";
            }
          };

      assertThatThrownBy(() -> Jackson2Codec.using(new ObjectMapper(other)))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("it writes CBOR");
    }

    @Test
    void mapperThatCannotBeCopiedIsRefused() {
      assertThatThrownBy(() -> Jackson2Codec.using(new ObjectMapper() {}))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("copy()");
    }

    @Test
    void laterChangesToTheMapperDoNotReachTheCodec() {
      ObjectMapper mapper = new ObjectMapper();
      Jackson2Codec codec = Jackson2Codec.using(mapper);
      mapper.activateDefaultTyping(validator, ObjectMapper.DefaultTyping.EVERYTHING);
      byte[] content = "[\"java.util.ArrayList\",[]]".getBytes(UTF_8);

      assertThat(codec.decode(content, JSON, Object.class))
          .isEqualTo(List.of("java.util.ArrayList", List.of()));
      assertThat(codec.maxLength(100).decode(content, JSON, Object.class))
          .isEqualTo(List.of("java.util.ArrayList", List.of()));
    }

    @Test
    void settingsAreKeptAndLimitsAdded() throws Exception {
      ObjectMapper mapper =
          JsonMapper.builder()
              .propertyNamingStrategy(PropertyNamingStrategies.UPPER_CAMEL_CASE)
              .build();
      Jackson2Codec codec = Jackson2Codec.using(mapper);
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
