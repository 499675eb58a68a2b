package dev.pigeonhole.jackson;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jackson.Samples.Choosy;
import dev.pigeonhole.jackson.Samples.Circle;
import dev.pigeonhole.jackson.Samples.Classes;
import dev.pigeonhole.jackson.Samples.Drawing;
import dev.pigeonhole.jackson.Samples.Line;
import dev.pigeonhole.jackson.Samples.Numbers;
import dev.pigeonhole.jackson.Samples.OpenHolder;
import dev.pigeonhole.jackson.Samples.Order;
import dev.pigeonhole.jackson.Samples.Ping;
import dev.pigeonhole.jackson.Samples.Shape;
import dev.pigeonhole.jackson.Samples.Size;
import dev.pigeonhole.jackson.Samples.Square;
import dev.pigeonhole.jackson.Samples.Text;
import dev.pigeonhole.jackson.Samples.Wrapped;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What both codecs promise, with the numbers of the inputs that they must survive. */
abstract class CodecContract {
  static final String JSON = "application/json";
  private static final String GADGET = "dev.pigeonhole.jackson.GadgetAlarm";
  private static final String CANARY = "canary4711";

  abstract PayloadCodec codec();

  abstract PayloadCodec codec(int maxLength);

  // Round trips

  @Test
  void recordComesBackAsItWas() {
    assertThat(roundTrip(Samples.order(), Order.class)).isEqualTo(Samples.order());
  }

  @Test
  void nullsAndEmptyOptionalComeBack() {
    assertThat(roundTrip(Samples.emptyOrder(), Order.class)).isEqualTo(Samples.emptyOrder());
  }

  @Test
  void absentPropertiesAreNullAndAbsentOptionalIsEmpty() {
    assertThat(decode("{\"sequence\":0}", Order.class)).isEqualTo(Samples.emptyOrder());
  }

  @Test
  void eachDecodingIsFresh() {
    byte[] content = codec().encode(Samples.order());

    assertThat(codec().decode(content, JSON, Order.class))
        .isNotSameAs(codec().decode(content, JSON, Order.class));
  }

  @Test
  void timesAreIsoText() {
    assertThat(new String(codec().encode(Samples.order()), UTF_8))
        .contains("\"placed\":\"2026-03-04T05:06:07.123456789Z\"")
        .contains("\"shipped\":\"2026-03-04T05:06:07+02:00\"")
        .contains("\"patience\":\"PT1H30M\"");
  }

  @Test
  void enumsGoByNameWhateverTheyPrint() {
    assertThat(new String(codec().encode(Size.LARGE), UTF_8)).isEqualTo("\"LARGE\"");
    assertThat(decode("\"SMALL\"", Size.class)).isEqualTo(Size.SMALL);
    assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, "1", Size.class);
    assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, "\"size 1\"", Size.class);
  }

  @Test
  void equalMapsBecomeEqualContent() {
    Map<String, Integer> forth = new LinkedHashMap<>();
    Map<String, Integer> back = new LinkedHashMap<>();
    for (int i = 0; i < 20; i++) {
      forth.put("k" + i, i);
      back.put("k" + (19 - i), 19 - i);
    }

    assertThat(codec().encode(forth)).isEqualTo(codec().encode(back));
  }

  @Test
  void nullDocumentIsNull() {
    assertThat(decode("null", Order.class)).isNull();
    assertThat(decode("null", Optional.class)).isEmpty();
    assertThat(new String(codec().encode(Optional.empty()), UTF_8)).isEqualTo("null");
  }

  @Test
  void recordWithoutComponentsComesBack() {
    assertThat(roundTrip(new Ping(), Ping.class)).isEqualTo(new Ping());
  }

  @Test
  void closedSetOfSubtypesComesBack() {
    Drawing drawing = new Drawing(List.of(new Circle(1), new Square(2)));

    assertThat(roundTrip(drawing, Drawing.class)).isEqualTo(drawing);
  }

  @Test
  void unknownPropertiesAreIgnored() {
    assertThat(decode("{\"text\":\"a\",\"added\":{\"later\":[1]}}", Text.class))
        .isEqualTo(new Text("a"));
  }

  @Test
  void nothingIsRoundedOrMadeUp() {
    assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, "{\"article\":\"a\",\"count\":1.9}", Line.class);
    assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, "{\"article\":\"a\",\"count\":null}", Line.class);
    assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, "{\"article\":\"a\"}", Line.class);
    assertThat(
            assertRefused(
                ErrorCode.PAYLOAD_UNDECODABLE,
                "{\"article\":\"a\",\"count\":12345678901}",
                Line.class))
        .hasMessageContaining("a value for int");
  }

  // Encoding

  @Test
  void writesApplicationJson() {
    assertThat(codec().contentType()).isEqualTo(JSON);
  }

  @Test
  void payloadThatCannotBeWrittenIsRefused() {
    assertUnencodable(new Samples.Failing());
    assertUnencodable(new Samples.Hidden());
  }

  @Test
  void halfCharactersComeBackAsTheyWere() {
    for (String text : List.of("\uD834", "\uD834x", "x\uDD1E", "\uDD1E\uD834")) {
      assertThat(roundTrip(new Text(text), Text.class)).isEqualTo(new Text(text));
    }
  }

  @Test
  void cycleIsRefused() {
    Samples.Node node = new Samples.Node();
    Samples.Node other = new Samples.Node();
    node.next = other;
    other.next = node;

    assertUnencodable(node);
  }

  @Test
  void whatCouldNotBeReadAgainIsNotWritten() {
    assertThat(codec().decode(codec().encode(Samples.nested(200)), JSON, List.class)).isNotNull();
    assertUnencodable(Samples.nested(201));
    assertUnencodable(new BigInteger("9".repeat(101)));
    assertUnencodable(Map.of("n".repeat(1_001), 1));
    assertUnencodable(new Samples.Doubled());
  }

  @Test
  void payloadOverTheLengthIsRefusedBeforeAllOfItIsWritten() {
    assertThat(codec(12).encode(new Text("a"))).hasSize(12);
    assertThat(catchThrowableOfType(CodecException.class, () -> codec(11).encode(new Text("a"))))
        .returns(ErrorCode.PAYLOAD_TOO_LARGE, CodecException::code)
        .hasMessageContaining("11 bytes");
    // 2 GB if it were written.
    assertThat(
            catchThrowableOfType(
                CodecException.class,
                () -> codec().encode(java.util.Collections.nCopies(500_000_000, "ab"))))
        .returns(ErrorCode.PAYLOAD_TOO_LARGE, CodecException::code);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
  void limitBelowOneByteIsRefused(int limit) {
    assertThatThrownBy(() -> codec(limit))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-CFG-05");
  }

  // Bodies and content types

  @Test
  @DisplayName("D.3/36 null body and empty body are told apart")
  void input36NullBodyAndEmptyBodyAreToldApart() {
    assertThat(refusal(null, JSON, Text.class))
        .returns(ErrorCode.PAYLOAD_UNDECODABLE, CodecException::code)
        .hasMessageContaining("no body");
    assertThat(refusal(null, JSON, Optional.class)).hasMessageContaining("no body");
    assertThat(refusal(new byte[0], JSON, Text.class))
        .returns(ErrorCode.PAYLOAD_UNDECODABLE, CodecException::code)
        .hasMessageContaining("empty");
    assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, " \n ", Text.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "application/json",
        "Application/JSON",
        " application/json ; charset=\"UTF-8\" ",
        "application/json;version=1;charset=utf-8",
        "text/json",
        "application/cloudevents+json",
        "application/vnd.example.order-v1+json; charset=utf8"
      })
  void jsonTypesAreAccepted(String contentType) {
    assertThat(codec().decode("{\"text\":\"é\"}".getBytes(UTF_8), contentType, Text.class))
        .isEqualTo(new Text("é"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "application/xml",
        "text/plain",
        "application/octet-stream",
        "application/jsonp",
        "application/json-seq",
        "application/+json",
        "image/evil+json",
        "application/x-protobuf",
        "x\napplication/json",
      })
  void otherTypesAreRefused(String contentType) {
    assertThat(refusal("{}".getBytes(UTF_8), contentType, Text.class))
        .returns(ErrorCode.PAYLOAD_TYPE_REFUSED, CodecException::code)
        .message()
        .doesNotContain("\n");
  }

  // Bad content

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{",
        "{\"text\":}",
        "{\"text\":\"a\"",
        "{\"text\":\"a\",}",
        "{'text':'a'}",
        "{text:1}",
        "{\"text\":\"a\"} x",
        "{\"text\":\"a\"}{}",
        "{\"text\":\"a\u0001\"}",
        "// no\n{}",
        "{\"text\":NaN}",
        "{\"text\":01}",
        "{\"text\":\"\\x\"}"
      })
  @DisplayName("D.3/40 invalid JSON is refused with line and column")
  void input40InvalidJsonIsRefusedWithLineAndColumn(String json) {
    assertThat(assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, json, Text.class))
        .hasMessageContaining("line ")
        .hasMessageContaining("column ");
  }

  @Test
  @DisplayName("D.3/40 the place is exact")
  void input40PlaceIsExact() {
    assertThat(
            assertRefused(
                ErrorCode.PAYLOAD_UNDECODABLE,
                "{\n \"lines\": [ {\"count\":1},\n  {\"count\":\"x\"} ]}",
                Order.class))
        .hasMessageContaining("line 3, column 12, in $.lines[1].count");
  }

  @Test
  @DisplayName("D.3/41 depth 10 000 is refused, depth 200 is read")
  void sc19_input41DeepNestingIsRefused() {
    String deep = "[".repeat(10_000) + "]".repeat(10_000);
    String allowed = "[".repeat(200) + "]".repeat(200);

    assertThat(assertRefused(ErrorCode.PAYLOAD_OVER_LIMITS, deep, List.class))
        .hasMessageContaining("deeper than 200 levels at line 1, column 20");
    assertRefused(ErrorCode.PAYLOAD_OVER_LIMITS, "[" + allowed + "]", Object.class);
    assertRefused(
        ErrorCode.PAYLOAD_OVER_LIMITS,
        "{\"a\":".repeat(10_000) + "1" + "}".repeat(10_000),
        Map.class);
    assertRefused(ErrorCode.PAYLOAD_OVER_LIMITS, "{\"ignored\":" + deep + "}", Text.class);
    assertThat(decode(allowed, List.class)).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"%s", "-%s", "1.%s", "%s.5", "%se5"})
  @DisplayName("D.3/42 number with 100 000 digits is refused")
  void input42LongNumberIsRefused(String shape) {
    String number = shape.formatted("7".repeat(100_000));

    for (String property : List.of("decimal", "integer", "count", "anything", "ignored")) {
      assertThat(
              assertRefused(
                  ErrorCode.PAYLOAD_OVER_LIMITS,
                  "{\"" + property + "\":" + number + "}",
                  Numbers.class))
          .hasMessageContaining("more than 100 digits at line 1, column ");
    }
  }

  @Test
  @DisplayName("D.3/42 long number in a string and large exponent are refused")
  void input42NumberInDisguiseIsRefused() {
    assertRefused(
        ErrorCode.PAYLOAD_OVER_LIMITS,
        "{\"integer\":\"" + "7".repeat(100_000) + "\",\"count\":1}",
        Numbers.class);
    assertRefused(
        ErrorCode.PAYLOAD_UNDECODABLE, "{\"integer\":1e999999999,\"count\":1}", Numbers.class);
  }

  @Test
  @DisplayName("D.3/43 string of 50 MB is refused")
  void input43LongStringIsRefused() {
    assertThat(
            assertRefused(
                ErrorCode.PAYLOAD_OVER_LIMITS,
                "{\"text\":\"" + "a".repeat(50_000_000) + "\"}",
                Text.class))
        .hasMessageContaining("the limit is 1000000");
  }

  @Test
  @DisplayName("D.3/43 the limit counts bytes and is exact")
  void input43LimitIsExact() {
    String atTheLimit = "{\"text\":\"" + "é".repeat(44) + "\"}";
    byte[] content = atTheLimit.getBytes(UTF_8);

    assertThat(content).hasSize(99);
    assertThat(codec(99).decode(content, JSON, Text.class)).isNotNull();
    assertThatThrownBy(() -> codec(98).decode(content, JSON, Text.class))
        .hasMessageContaining("PH-PAY-04");
  }

  @Test
  @DisplayName("D.3/44 10^6 property names are refused, even where the length is allowed")
  void input44ManyPropertyNamesAreRefused() {
    StringBuilder json = new StringBuilder("{");
    for (int i = 0; i < 1_000_000; i++) {
      json.append(i == 0 ? "" : ",").append("\"n").append(i).append("\":0");
    }
    byte[] content = json.append("}").toString().getBytes(UTF_8);

    for (Class<?> type : List.of(Map.class, Object.class, Text.class)) {
      assertThat(refusal(content, JSON, type))
          .returns(ErrorCode.PAYLOAD_OVER_LIMITS, CodecException::code);
      assertThat(refusal(codec(100_000_000), content, JSON, type))
          .returns(ErrorCode.PAYLOAD_OVER_LIMITS, CodecException::code)
          .hasMessageContaining("1000000 tokens");
    }
  }

  @Test
  @DisplayName("D.3/44 property name of more than 1 000 characters is refused")
  void input44LongPropertyNameIsRefused() {
    assertThat(decode("{\"" + "n".repeat(1_000) + "\":1}", Map.class)).hasSize(1);
    assertThat(
            assertRefused(
                ErrorCode.PAYLOAD_OVER_LIMITS, "{\"" + "n".repeat(100_000) + "\":1}", Text.class))
        .hasMessageContaining("property name of more than 1000 characters");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"text\":\"a\",\"text\":\"b\"}",
        "{\"text\":\"a\",\"te\\u0078t\":\"b\"}",
        "{\"ignored\":{\"a\":1,\"a\":2}}"
      })
  @DisplayName("D.3/45 duplicate keys are refused")
  void input45DuplicateKeysAreRefused(String json) {
    for (Class<?> type : List.of(Text.class, Map.class, Object.class)) {
      assertThat(assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, json, type))
          .hasMessageContaining("twice")
          .hasMessageContaining("line 1");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "UTF-8, EFBBBF",
    "UTF-16BE, FEFF",
    "UTF-16LE, FFFE",
    "UTF-32BE, 0000FEFF",
    "UTF-32LE, FFFE0000"
  })
  @DisplayName("D.3/46 byte order marks and declared charsets are obeyed")
  void input46ByteOrderMarksAndDeclaredCharsetsAreObeyed(String name, String mark) {
    byte[] plain = "{\"text\":\"é𝄞\"}".getBytes(Charset.forName(name));
    byte[] marked = concat(java.util.HexFormat.of().parseHex(mark), plain);
    String family = name.substring(0, name.endsWith("E") ? name.length() - 2 : name.length());
    Text expected = new Text("é𝄞");

    assertThat(codec().decode(marked, JSON, Text.class)).isEqualTo(expected);
    assertThat(codec().decode(marked, JSON + ";charset=" + name, Text.class)).isEqualTo(expected);
    assertThat(codec().decode(marked, JSON + ";charset=" + family, Text.class)).isEqualTo(expected);
    assertThat(codec().decode(plain, JSON + ";charset=" + name, Text.class)).isEqualTo(expected);
  }

  @Test
  @DisplayName("D.3/46 wrong charset is refused")
  void input46WrongCharsetIsRefused() {
    byte[] latin = "{\"text\":\"é\"}".getBytes(StandardCharsets.ISO_8859_1);
    byte[] utf16 =
        concat(new byte[] {(byte) 0xFE, (byte) 0xFF}, "{}".getBytes(StandardCharsets.UTF_16BE));

    for (String charset : List.of("iso-8859-1", "windows-1252", "utf-7", "no such", "")) {
      assertThat(refusal(latin, JSON + ";charset=" + charset, Text.class))
          .returns(ErrorCode.PAYLOAD_CHARSET, CodecException::code);
    }
    assertThat(refusal(latin, JSON + ";charset=utf-8", Text.class))
        .returns(ErrorCode.PAYLOAD_CHARSET, CodecException::code)
        .hasMessageContaining("byte 9");
    assertThat(refusal(utf16, JSON + ";charset=utf-8", Text.class))
        .returns(ErrorCode.PAYLOAD_CHARSET, CodecException::code);
    assertThat(refusal(latin, JSON, Text.class))
        .returns(ErrorCode.PAYLOAD_UNDECODABLE, CodecException::code);
    // A half character, and a NUL in two bytes, written as lax encoders do.
    for (int[] lax : new int[][] {{0xED, 0xA0, 0x80}, {0xC0, 0x80}}) {
      byte[] content = "{\"text\":\"???\"}".getBytes(UTF_8);
      for (int i = 0; i < lax.length; i++) {
        content[9 + i] = (byte) lax[i];
      }
      assertThat(refusal(content, JSON + ";charset=utf-8", Text.class))
          .returns(ErrorCode.PAYLOAD_CHARSET, CodecException::code);
    }
  }

  @Test
  @DisplayName("D.3/47 \\u0000 inside a string is delivered")
  void input47NulInsideStringIsDelivered() {
    assertThat(decode("{\"text\":\"a\\u0000b\"}", Text.class)).isEqualTo(new Text("a\0b"));
    assertThat(roundTrip(new Text("a\0b"), Text.class)).isEqualTo(new Text("a\0b"));
  }

  @Test
  @DisplayName("D.3/48 numbers beyond 2^53 are unchanged")
  void input48NumbersBeyondDoubleAreUnchanged() {
    Numbers numbers =
        new Numbers(
            new BigDecimal("9007199254740993.100"),
            new BigInteger("123456789012345678901234567890"),
            Long.MAX_VALUE,
            new BigDecimal("0.12345678901234567890"));

    assertThat(roundTrip(numbers, Numbers.class)).isEqualTo(numbers);
    assertThat(decode("{\"content\":9007199254740993}", Wrapped.class))
        .isEqualTo(new Wrapped(9007199254740993L));
    assertThat(roundTrip(new BigDecimal("1E+3"), BigDecimal.class))
        .isEqualTo(new BigDecimal("1E+3"));
  }

  @Test
  @DisplayName("D.3/50 Java-serialized content is refused, by its type and by its bytes")
  void input50SerializedJavaIsRefused() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject("gadget");
    }

    for (String type : List.of("application/x-java-serialized-object", JSON)) {
      assertThat(refusal(bytes.toByteArray(), type, Object.class))
          .returns(ErrorCode.PAYLOAD_TYPE_REFUSED, CodecException::code);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"@class\":\"%s\",\"command\":\"x\"}",
        "{\"@type\":\"%s\"}",
        "[\"%s\",{}]",
        "[\"[L%s;\",[[\"%s\",{}]]]",
        "[\"java.util.ArrayList<%s>\",[]]",
        "{\"content\":{\"@class\":\"%s\"}}",
        "{\"content\":[\"%s\",{\"command\":\"x\"}]}",
        "[\"com.sun.rowset.JdbcRowSetImpl\",{\"dataSourceName\":\"ldap://x\",\"autoCommit\":true}]"
      })
  @DisplayName("D.3/51 class names in content are plain data")
  void sc01_e23_input51ClassNamesAreData(String shape) {
    String json = shape.replace("%s", GADGET);
    for (Class<?> type :
        List.of(Object.class, Map.class, List.class, Wrapped.class, Text.class, Shape.class)) {
      Object read;
      try {
        read = decode(json, type);
      } catch (CodecException e) {
        assertThat(e.code()).isIn(ErrorCode.PAYLOAD_UNDECODABLE, ErrorCode.PAYLOAD_TYPE_REFUSED);
        continue;
      }
      Object data = read instanceof Wrapped wrapped ? wrapped.content() : read;
      if (data != null && !(data instanceof Text)) {
        assertThat(data).isInstanceOfAny(Map.class, List.class);
      }
    }
    assertNoAlarm();
  }

  @Test
  @DisplayName("D.3/51 classes that ask for class names are refused")
  void input51ClassesThatAskForClassNamesAreRefused() {
    for (String json :
        List.of("{\"open\":{\"@class\":\"" + GADGET + "\"}}", "{\"open\":{\"@class\":\"\"}}")) {
      assertThat(assertRefused(ErrorCode.PAYLOAD_TYPE_REFUSED, json, OpenHolder.class))
          .message()
          .contains("Id.NAME")
          .doesNotContain(GADGET);
    }
    assertRefused(
        ErrorCode.PAYLOAD_TYPE_REFUSED, "{\"@class\":\"" + GADGET + "\"}", Samples.Open.class);
    assertRefused(ErrorCode.PAYLOAD_TYPE_REFUSED, "{\"type\":\"" + GADGET + "\"}", Classes.class);
    assertRefused(ErrorCode.PAYLOAD_TYPE_REFUSED, "\"" + GADGET + "\"", Class.class);
    assertRefused(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        "{\"types\":{\"" + GADGET + "\":\"x\"}}",
        Samples.ClassKeys.class);
    assertNoAlarm();
  }

  @Test
  @DisplayName("D.3/52 subtype that is not registered is refused")
  void sc02_input52UnregisteredSubtypeIsRefused() {
    for (String name : List.of("triangle", GADGET, Circle.class.getName(), "Circle", "")) {
      assertThat(
              assertRefused(
                  ErrorCode.PAYLOAD_TYPE_REFUSED,
                  "{\"kind\":\"" + name + "\",\"radius\":1}",
                  Shape.class))
          .hasMessageContaining("no known subtype");
    }
    assertRefused(ErrorCode.PAYLOAD_TYPE_REFUSED, "{\"radius\":1}", Shape.class);
    assertNoAlarm();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../../../etc/passwd",
        "circle/../square",
        "Samples$$Lambda/0x0000000800c03000",
        "Samples$Circle;",
        "circle\\u0000",
        " circle"
      })
  @DisplayName("D.3/53 subtype with path traversal or lambda name is refused")
  void input53OddSubtypeNameIsRefused(String name) {
    assertThat(
            assertRefused(
                ErrorCode.PAYLOAD_TYPE_REFUSED,
                "{\"kind\":\"" + name + "\",\"radius\":1}",
                Shape.class))
        .message()
        .doesNotContain(name);
  }

  @Test
  @DisplayName("D.3/59 Protobuf and Avro bytes are refused")
  void input59BinaryOfAnotherSchemaIsRefused() {
    byte[] protobuf = {0x0A, 0x03, 'a', 'b', 'c', 0x10, (byte) 0x96, 0x01};
    byte[] avro = {'O', 'b', 'j', 1, 4, 20, 'a', 'v', 'r', 'o', '.', 'c', 'o', 'd', 'e', 'c'};
    byte[] readable = {0x0A, 0x03, 'a', 'b', 'c'};

    for (byte[] content : List.of(protobuf, avro, readable)) {
      assertThat(refusal(content, JSON, Text.class))
          .returns(ErrorCode.PAYLOAD_UNDECODABLE, CodecException::code);
    }
    assertThat(refusal(protobuf, "application/x-protobuf", Text.class))
        .returns(ErrorCode.PAYLOAD_TYPE_REFUSED, CodecException::code);
  }

  @Test
  void theAlarmWorks() throws ClassNotFoundException {
    Class.forName(GADGET + "$Drill");

    assertThat(System.getProperty("pigeonhole.alarm.drill")).isNotNull();
  }

  // What errors tell

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"total\":\"" + CANARY + "\"}",
        "{\"placed\":\"" + CANARY + "\"}",
        "{\"size\":\"" + CANARY + "\"}",
        "{\"lines\":\"" + CANARY + "\"}",
        "{\"lines\":[\"" + CANARY + "\"]}",
        "{\"sizes\":{\"" + CANARY + "\":\"" + CANARY + "\"}}",
        "{\"id\":\"" + CANARY + "\" x}",
        "{\"id\":" + CANARY + "}",
        "{\"id\":\"a\",\"" + CANARY + "\":1,\"" + CANARY + "\":2}",
        "\"" + CANARY + "\"",
        "{\"sequence\":\"" + CANARY + "\"}"
      })
  @DisplayName("SC-15 errors hold no content, neither in the message nor in the causes")
  void errorsHoldNoContent(String json) {
    CodecException e = refusal(json.getBytes(UTF_8), JSON, Order.class);
    StringWriter printed = new StringWriter();
    e.printStackTrace(new PrintWriter(printed));

    assertThat(printed.toString()).doesNotContain(CANARY).doesNotContain("4711");
  }

  @Test
  @DisplayName("SC-15 refusal of a constructor holds its class and its place, not its message")
  void refusalOfConstructorHoldsNoContent() {
    CodecException e = refusal("{\"amount\":-4711}".getBytes(UTF_8), JSON, Choosy.class);
    StringWriter printed = new StringWriter();
    e.printStackTrace(new PrintWriter(printed));

    assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_UNDECODABLE);
    assertThat(e).hasMessageContaining("IllegalArgumentException");
    assertThat(printed.toString()).contains("Samples.java").doesNotContain("4711");
  }

  @Test
  @DisplayName("SC-15 failure of a getter holds no content")
  void failureOfGetterHoldsNoContent() {
    CodecException e =
        catchThrowableOfType(CodecException.class, () -> codec().encode(new Samples.Failing()));
    StringWriter printed = new StringWriter();
    e.printStackTrace(new PrintWriter(printed));

    assertThat(e).hasMessageContaining("$.value").hasMessageContaining("IllegalStateException");
    assertThat(printed.toString()).doesNotContain("canary-of-a-getter");
  }

  @Test
  void classThatCannotBeReadIsNamed() {
    assertThat(assertRefused(ErrorCode.PAYLOAD_UNDECODABLE, "{}", Runnable.class))
        .hasMessageContaining("java.lang.Runnable cannot be read");
  }

  // Under load

  @Test
  void mutatedContentNeverCausesAnythingButAnAnswer() {
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println(getClass().getSimpleName() + " fuzz: -Dpigeonhole.seed=" + seed);
    Random random = new Random(seed);
    byte[] good = codec().encode(Samples.order());
    byte[] pieces = "{}[]\":,\\u0e-+.1 \n\u00ff\ufeffnullNaN//*'".getBytes(UTF_8);
    String[] types = {JSON, JSON + ";charset=utf-8", JSON + ";charset=utf-16", "text/json"};
    Class<?>[] classes = {Order.class, Map.class, Object.class, Shape.class, OpenHolder.class};
    int rounds = "full".equals(System.getProperty("pigeonhole.size")) ? 200_000 : 10_000;
    int read = 0;
    for (int i = 0; i < rounds; i++) {
      byte[] content = mutated(good, pieces, random);
      try {
        codec()
            .decode(
                content,
                types[random.nextInt(types.length)],
                classes[random.nextInt(classes.length)]);
        read++;
      } catch (CodecException e) {
        assertThat(e.code())
            .isIn(
                ErrorCode.PAYLOAD_UNDECODABLE,
                ErrorCode.PAYLOAD_OVER_LIMITS,
                ErrorCode.PAYLOAD_TYPE_REFUSED,
                ErrorCode.PAYLOAD_CHARSET);
      } catch (Throwable e) {
        throw new AssertionError("seed " + seed + ", round " + i, e);
      }
    }
    assertThat(read).as("some survive, with seed %d", seed).isPositive();
  }

  private static byte[] mutated(byte[] good, byte[] pieces, Random random) {
    byte[] content = good.clone();
    for (int i = random.nextInt(4); i >= 0; i--) {
      int at = random.nextInt(content.length);
      switch (random.nextInt(4)) {
        case 0 -> content[at] = (byte) random.nextInt(256);
        case 1 -> content[at] = pieces[random.nextInt(pieces.length)];
        case 2 -> content = java.util.Arrays.copyOf(content, Math.max(1, at));
        default -> content = concat(content, java.util.Arrays.copyOf(content, at));
      }
    }
    return content;
  }

  @Test
  void manyThreadsShareOneCodec() throws Exception {
    PayloadCodec shared = codec();
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        int number = i;
        all.add(
            threads.submit(
                () -> {
                  for (int j = 0; j < 500; j++) {
                    Line line = new Line("article " + number, j);
                    assertThat(shared.decode(shared.encode(line), JSON, Line.class))
                        .isEqualTo(line);
                    assertThat(shared.decode(shared.encode(Samples.order()), JSON, Order.class))
                        .isEqualTo(Samples.order());
                  }
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  // Helpers

  private <T> T roundTrip(Object payload, Class<T> type) {
    return codec().decode(codec().encode(payload), codec().contentType(), type);
  }

  private <T> T decode(String json, Class<T> type) {
    return codec().decode(json.getBytes(UTF_8), JSON, type);
  }

  private CodecException assertRefused(ErrorCode code, String json, Class<?> type) {
    CodecException e = refusal(json.getBytes(UTF_8), JSON, type);
    assertThat(e.code()).as(e.getMessage()).isEqualTo(code);
    return e;
  }

  private CodecException refusal(byte[] content, String contentType, Class<?> type) {
    return refusal(codec(), content, contentType, type);
  }

  private static CodecException refusal(
      PayloadCodec codec, byte[] content, String contentType, Class<?> type) {
    CodecException e =
        catchThrowableOfType(CodecException.class, () -> codec.decode(content, contentType, type));
    assertThat(e).as("refusal").isNotNull();
    return e;
  }

  private void assertUnencodable(Object payload) {
    assertThat(catchThrowableOfType(CodecException.class, () -> codec().encode(payload)))
        .isNotNull()
        .returns(ErrorCode.PAYLOAD_UNENCODABLE, CodecException::code);
  }

  private static void assertNoAlarm() {
    assertThat(System.getProperty("pigeonhole.alarm")).isNull();
  }

  private static byte[] concat(byte[] first, byte[] second) {
    byte[] both = java.util.Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }
}
