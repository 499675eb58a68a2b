package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Specs;
import dev.pigeonhole.codec.PayloadCodec;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.URL;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Date;
import java.util.Enumeration;
import java.util.List;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PayloadsTest {
  private static TypeSpec type(Class<?> type) {
    return Specs.type(type, "t");
  }

  record Simple(String name, int count, @Nullable Long seen) {}

  record Times(Instant at, Duration took, DayOfWeek day) {}

  record Nested(Simple simple, UUID id, BigDecimal price) {}

  record Chain(String name, @Nullable Chain next) {}

  record WithList(List<String> names) {}

  record WithBytes(byte[] bytes) {}

  record WithDate(Date date) {}

  record Deep(Nested nested, WithBytes bytes) {}

  record WithAnything(Object anything) {}

  private final Payloads payloads = Payloads.using(null);

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(InboxException.class, e -> assertThat(e.code()).isEqualTo(code));
  }

  @Test
  void bytesAndTextNeedNoCodecAndAreCopied() {
    byte[] bytes = {1, 2};
    Payloads.Encoded encoded = payloads.encode(bytes, type(Object.class));
    bytes[0] = 9;

    assertThat(encoded.content()).containsExactly(1, 2);
    Object decoded =
        payloads.decode(encoded.content(), encoded.contentType(), type(byte[].class), "t");
    assertThat(decoded).isEqualTo(new byte[] {1, 2}).isNotSameAs(encoded.content());
    Payloads.Encoded text = payloads.encode("Größe 😀", type(Object.class));
    assertThat(payloads.decode(text.content(), text.contentType(), type(String.class), "t"))
        .isEqualTo("Größe 😀");
    assertThat(payloads.decode(null, "text/plain", type(String.class), "t")).isNull();
    assertThat(payloads.decode(null, "text/plain", type(byte[].class), "t")).isNull();
  }

  @Test
  void textIsReadInTheCharsetItSaysAndInNoOther() {
    byte[] utf16 = "Größe".getBytes(StandardCharsets.UTF_16);
    assertThat(payloads.decode(utf16, "text/plain; charset=\"UTF-16\"", type(String.class), "t"))
        .isEqualTo("Größe");
    byte[] latin = "Größe".getBytes(Charset.forName("ISO-8859-1"));
    refused(
        ErrorCode.PAYLOAD_CHARSET,
        () -> payloads.decode(latin, "text/plain", type(String.class), "t"));
    refused(
        ErrorCode.PAYLOAD_CHARSET,
        () -> payloads.decode(latin, "text/plain;charset=klingon", type(String.class), "t"));
    refused(
        ErrorCode.PAYLOAD_CHARSET,
        () -> payloads.decode(latin, "text/plain;charset=", type(String.class), "t"));
  }

  @Test
  void sc05_otherClassesNeedACodec() {
    assertThat(payloads.supports(type(Simple.class))).isFalse();
    assertThat(payloads.supports(type(String.class))).isTrue();
    refused(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        () -> payloads.encode(new Simple("a", 1, null), type(Object.class)));
    refused(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        () -> payloads.decode(new byte[0], "application/json", type(Simple.class), "t"));
    refused(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        () ->
            payloads.decode(
                new byte[0], "application/x-java-serialized-object", type(byte[].class), "t"));
  }

  @Test
  void aCodecThatCannotWorkIsMissedOnlyByWhoNeedsOne() throws Exception {
    Thread self = Thread.currentThread();
    ClassLoader before = self.getContextClassLoader();
    Payloads broken;
    try {
      self.setContextClassLoader(new OffersBrokenCodec(before));
      broken = Payloads.using(null);
    } finally {
      self.setContextClassLoader(before);
    }

    assertThat(broken.supports(type(String.class))).isTrue();
    assertThat(broken.encode("x", type(Object.class)).content()).containsExactly('x');
    assertThat(broken.supports(type(Simple.class))).isFalse();
    assertThat(broken.lacking()).isEqualTo("Add the library.");
    assertThatThrownBy(() -> broken.encode(new Simple("a", 1, null), type(Object.class)))
        .hasMessageContaining("Add the library.");
  }

  /** Stands for a codec whose library is not there. */
  public static final class BrokenCodec implements PayloadCodec {
    public BrokenCodec() {
      throw new ConfigurationException(ErrorCode.PAYLOAD_TYPE_REFUSED, "Add the library.");
    }

    @Override
    public String contentType() {
      throw new AssertionError();
    }

    @Override
    public byte[] encode(Object payload) {
      throw new AssertionError();
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      throw new AssertionError();
    }
  }

  private static final class OffersBrokenCodec extends ClassLoader {
    OffersBrokenCodec(ClassLoader parent) {
      super(parent);
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
      if (!name.equals("META-INF/services/" + PayloadCodec.class.getName())) {
        return super.getResources(name);
      }
      Path file = Files.createTempFile("codec", ".service");
      file.toFile().deleteOnExit();
      Files.writeString(file, BrokenCodec.class.getName());
      return Collections.enumeration(List.of(file.toUri().toURL()));
    }
  }

  @Test
  void onlyWhatNobodyCanChangeIsShared() {
    Payloads sharing = payloads.sharing();
    for (Class<?> type :
        List.of(
            String.class,
            Integer.class,
            DayOfWeek.class,
            Instant.class,
            Simple.class,
            Times.class,
            Nested.class,
            Chain.class)) {
      assertThat(sharing.shares(type)).as(type.getName()).isTrue();
      assertThat(sharing.supports(type(type))).as(type.getName()).isTrue();
      assertThat(payloads.shares(type)).as("not where it is stored").isFalse();
    }
    for (Class<?> type :
        List.of(
            byte[].class,
            Object.class,
            List.class,
            Date.class,
            StringBuilder.class,
            WithList.class,
            WithBytes.class,
            WithDate.class,
            Deep.class,
            WithAnything.class,
            java.time.temporal.Temporal.class)) {
      assertThat(sharing.shares(type)).as(type.getName()).isFalse();
    }
  }
}
