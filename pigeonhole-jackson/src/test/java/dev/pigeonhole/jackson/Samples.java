package dev.pigeonhole.jackson;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Payloads. */
final class Samples {
  private Samples() {}

  enum Size {
    SMALL,
    LARGE;

    @Override
    public String toString() {
      return "size " + ordinal();
    }
  }

  record Line(String article, int count) {}

  record Order(
      String id,
      BigDecimal total,
      Instant placed,
      OffsetDateTime shipped,
      LocalDate due,
      Duration patience,
      Optional<String> note,
      Size size,
      List<Line> lines,
      Map<String, Size> sizes,
      long sequence) {}

  static Order order() {
    return new Order(
        "o-1 ✓ 𝄞 \u0000 \"quoted\"",
        new BigDecimal("10.10"),
        Instant.parse("2026-03-04T05:06:07.123456789Z"),
        OffsetDateTime.parse("2026-03-04T05:06:07+02:00"),
        LocalDate.parse("2026-03-05"),
        Duration.parse("PT1H30M"),
        Optional.of("leave at the door"),
        Size.LARGE,
        List.of(new Line("bread", 1), new Line("milk", 2)),
        Map.of("b", Size.SMALL, "a", Size.LARGE, "c", Size.SMALL),
        9_007_199_254_740_993L);
  }

  static Order emptyOrder() {
    return new Order(null, null, null, null, null, null, Optional.empty(), null, null, null, 0);
  }

  record Numbers(BigDecimal decimal, BigInteger integer, long count, Object anything) {}

  record Ping() {}

  record Text(String text) {}

  record Wrapped(Object content) {}

  record Choosy(int amount) {
    Choosy {
      if (amount < 0) {
        throw new IllegalArgumentException("not " + amount);
      }
    }
  }

  record Classes(Class<?> type) {}

  record ClassKeys(Map<Class<?>, String> types) {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
  @JsonSubTypes({
    @JsonSubTypes.Type(value = Circle.class, name = "circle"),
    @JsonSubTypes.Type(value = Square.class, name = "square")
  })
  sealed interface Shape permits Circle, Square {}

  record Circle(int radius) implements Shape {}

  record Square(int side) implements Shape {}

  record Drawing(List<Shape> shapes) {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.CLASS, property = "@class")
  interface Open {}

  record OpenHolder(Open open) {}

  static final class Hidden {
    private final String secret = "kept";

    @Override
    public String toString() {
      return secret;
    }
  }

  static final class Node {
    public Node next;
  }

  static final class Failing {
    public String getValue() {
      throw new IllegalStateException("canary-of-a-getter");
    }
  }

  static final class Doubled {
    public String getName() {
      return "a";
    }

    @JsonAnyGetter
    public Map<String, String> more() {
      return Map.of("name", "b");
    }
  }

  static List<Object> nested(int depth) {
    List<Object> outer = new ArrayList<>();
    List<Object> each = outer;
    for (int i = 1; i < depth; i++) {
      List<Object> inner = new ArrayList<>();
      each.add(inner);
      each = inner;
    }
    return outer;
  }
}
