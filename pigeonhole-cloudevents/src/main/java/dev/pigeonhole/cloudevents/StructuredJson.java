package dev.pigeonhole.cloudevents;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.node.POJONode;
import com.fasterxml.jackson.databind.util.RawValue;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.jackson.JsonCloudEventData;
import io.cloudevents.jackson.JsonFormat;
import java.io.IOException;
import java.nio.charset.Charset;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Events as one JSON document. The SDK writes them. It does not read them: it would read any depth
 * and length, take null for the text "null", turn numbers of the data into others, and refuse data
 * of a type such as {@code application/vnd.shop.order+json}. So the document is walked here, under
 * our limits, and the data is cut out as it stands.
 */
final class StructuredJson {
  static final String CONTENT_TYPE = JsonFormat.CONTENT_TYPE;

  private static final String DATA = "data";
  private static final String DATA_BASE64 = "data_base64";

  /** Data that is no JSON goes in Base64; what is JSON comes to the format as such. */
  private static final JsonFormat FORMAT = new JsonFormat().withForceJsonDataToBase64();

  private static final JsonFactory JSON = factory(200, 1_000_000);

  /** For data before it is written: the document around it has a level and tokens of its own. */
  private static final JsonFactory INSIDE = factory(199, 990_000);

  private StructuredJson() {}

  /** The bytes are in memory already, so a string may be as long as they are. */
  private static JsonFactory factory(int depth, int tokens) {
    return JsonFactory.builder()
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .streamReadConstraints(
            StreamReadConstraints.builder()
                .maxNestingDepth(depth)
                .maxNumberLength(100)
                .maxNameLength(1_000)
                .maxTokenCount(tokens)
                .maxStringLength(Integer.MAX_VALUE)
                .build())
        .build();
  }

  /**
   * @param attributes where they go
   */
  static CloudEvent read(byte @Nullable [] document, MediaType type, Attributes attributes) {
    if (document == null) {
      throw unreadable(attributes, "it has no body");
    }
    Charset charset = type.charset();
    String text = charset == null ? null : Texts.decoded(document, charset);
    if (text == null) {
      throw attributes.refusal(
          ErrorCode.PAYLOAD_CHARSET,
          "is not text in the charset '%s' that its content type names. Let its producer send"
              + " UTF-8.",
          type.charsetName());
    }
    String json = text.startsWith("\uFEFF") ? text.substring(1) : text; // a byte order mark
    try (JsonParser parser = JSON.createParser(json)) {
      return read(parser, json, attributes);
    } catch (StreamConstraintsException e) {
      throw attributes.refusal(
          ErrorCode.PAYLOAD_OVER_LIMITS,
          "is nested deeper than 200 levels, or has a number of more than 100 digits, a name of"
              + " more than 1,000 characters or more than 1,000,000 tokens. Check where it comes"
              + " from.");
    } catch (IOException e) {
      throw unreadable(attributes, "its body is no JSON, or has a name twice");
    }
  }

  private static CloudEvent read(JsonParser parser, String text, Attributes attributes)
      throws IOException {
    if (parser.nextToken() != JsonToken.START_OBJECT) {
      throw unreadable(attributes, "its body is no JSON object");
    }
    String json = null; // as it stands in the document
    String string = null; // what it says, if it is a JSON string
    byte[] bytes = null;
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      JsonToken value = parser.nextToken();
      if (name.equals(DATA)) {
        string = value == JsonToken.VALUE_STRING ? parser.getText() : null;
        json = rawValue(parser, text);
      } else if (name.equals(DATA_BASE64)) {
        bytes = value == JsonToken.VALUE_NULL ? null : base64(parser, value, attributes);
      } else {
        attributes.put(name, attribute(parser, name, value, attributes));
      }
    }
    if (parser.nextToken() != null) {
      throw unreadable(attributes, "something follows the JSON object of its body");
    }
    if (json == null) {
      return attributes.event(bytes);
    }
    if (bytes != null) {
      throw unreadable(attributes, "it has both data and data_base64");
    }
    return attributes.event(data(attributes, json, string));
  }

  private static byte[] data(Attributes attributes, String json, @Nullable String string) {
    if (attributes.get(Attributes.DATACONTENTTYPE) == null) {
      attributes.put(Attributes.DATACONTENTTYPE, "application/json");
    }
    MediaType type = MediaType.of(String.valueOf(attributes.get(Attributes.DATACONTENTTYPE)));
    Charset charset = type.charset();
    String content = type.isJson() ? json : string;
    byte[] data = charset == null || content == null ? null : Texts.encoded(content, charset);
    if (data == null) {
      throw unreadable(
          attributes,
          "its data is no '%s': it would have to be JSON, or a string that the charset can write",
          attributes.get(Attributes.DATACONTENTTYPE));
    }
    return data;
  }

  /** A string has been read before, so that the parser stands behind it. */
  private static String rawValue(JsonParser parser, String text) throws IOException {
    int from = (int) parser.currentTokenLocation().getCharOffset();
    parser.skipChildren();
    return text.substring(from, (int) parser.currentLocation().getCharOffset());
  }

  private static byte[] base64(JsonParser parser, JsonToken value, Attributes attributes)
      throws IOException {
    try {
      if (value == JsonToken.VALUE_STRING) {
        return Base64.getDecoder().decode(parser.getText());
      }
    } catch (IllegalArgumentException e) {
      // told below
    }
    throw unreadable(attributes, "its data_base64 is no Base64");
  }

  private static @Nullable Object attribute(
      JsonParser parser, String name, JsonToken value, Attributes attributes) throws IOException {
    return switch (value) {
      case VALUE_NULL -> null;
      case VALUE_STRING -> parser.getText();
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_NUMBER_INT -> parser.getNumberValue();
      default ->
          throw attributes.refusal(
              ErrorCode.EVENT_ATTRIBUTE_INVALID,
              "has an attribute '%s' that is a fraction, a list or an object. Attributes are text,"
                  + " booleans or whole numbers; everything else belongs into the data.",
              name);
    };
  }

  static byte[] write(CloudEvent event) {
    String json = json(event);
    if (json == null) {
      return FORMAT.serialize(event);
    }
    JsonCloudEventData raw = JsonCloudEventData.wrap(new POJONode(new RawValue(json)));
    return FORMAT.serialize(CloudEventBuilder.v1(event).withData(raw).build());
  }

  /** The data, if it is what a content type of JSON promises. */
  private static @Nullable String json(CloudEvent event) {
    if (event.getData() == null || event.getDataContentType() == null) {
      return null;
    }
    MediaType type = MediaType.of(event.getDataContentType());
    Charset charset = type.charset();
    if (!type.isJson() || charset == null) {
      return null;
    }
    String text = Texts.decoded(event.getData().toBytes(), charset);
    return text != null && isJson(text) ? text : null;
  }

  /** One value that {@link #read} would take in a document. */
  private static boolean isJson(String text) {
    try (JsonParser parser = INSIDE.createParser(text)) {
      if (parser.nextToken() == null) {
        return false;
      }
      parser.skipChildren();
      return parser.nextToken() == null;
    } catch (IOException e) {
      return false;
    }
  }

  private static InboxException unreadable(
      Attributes attributes, String why, @Nullable Object... values) {
    return attributes.refusal(
        ErrorCode.EVENT_UNREADABLE,
        "should be JSON, as its content type says, but "
            + why
            + ". Let its producer send one JSON object with the attributes and the data.",
        values);
  }
}
