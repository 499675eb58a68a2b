package dev.pigeonhole.jackson;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.Message;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jackson.Samples.Line;
import dev.pigeonhole.jackson.Samples.Order;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

/** The codec that an inbox finds by itself, on class paths with and without each Jackson. */
class DefaultJsonCodecTest {
  private static final String JACKSON_3 = "tools.jackson.";
  private static final String JACKSON_2 = "com.fasterxml.jackson.databind.";

  @Test
  void jackson3IsPreferred() throws Exception {
    assertThat(foundWithout()).hasToString("DefaultJsonCodec(JacksonCodec)");
  }

  @Test
  void jackson2IsUsedWithoutJackson3() throws Exception {
    PayloadCodec codec = foundWithout(JACKSON_3);

    assertThat(codec).hasToString("DefaultJsonCodec(Jackson2Codec)");
    assertThat(codec.decode(codec.encode(Samples.order()), codec.contentType(), Order.class))
        .isEqualTo(Samples.order());
  }

  @Test
  void jackson3IsUsedWithoutJackson2() throws Exception {
    PayloadCodec codec = foundWithout("com.fasterxml.jackson.d", "com.fasterxml.jackson.core.");

    assertThat(codec).hasToString("DefaultJsonCodec(JacksonCodec)");
    assertThat(codec.decode(codec.encode(Samples.order()), codec.contentType(), Order.class))
        .isEqualTo(Samples.order());
  }

  @Test
  void jackson2WorksWithoutItsModulesAsFarAsItCan() throws Exception {
    PayloadCodec codec = foundWithout(JACKSON_3, "com.fasterxml.jackson.datatype.");
    Line line = new Line("bread", 1);

    assertThat(codec.decode(codec.encode(line), codec.contentType(), Line.class)).isEqualTo(line);
    assertThatThrownBy(
            () -> codec.decode("{\"placed\":\"x\"}".getBytes(UTF_8), "text/json", Order.class))
        .hasMessageContaining("PH-PAY-03")
        .hasMessageContaining("its Jackson module is missing");
    assertThatThrownBy(() -> codec.encode(Samples.order())).hasMessageContaining("PH-PAY-11");
  }

  @Test
  void withoutJacksonTheErrorSaysWhatToAdd() {
    assertThatThrownBy(() -> foundWithout(JACKSON_3, JACKSON_2))
        .isInstanceOf(ServiceConfigurationError.class)
        .cause()
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("tools.jackson.core:jackson-databind");
  }

  @Test
  void withoutJacksonTextAndBytesWorkAndOtherTypesAreToldWhatToAdd() throws Exception {
    Channel texts =
        Channel.named("texts")
            .direct()
            .on(String.class)
            .handle("text", text -> {})
            .on(byte[].class)
            .handle("bytes", bytes -> {})
            .build();
    Channel orders =
        Channel.named("orders").direct().on(Order.class).handle("order", order -> {}).build();

    Thread self = Thread.currentThread();
    ClassLoader before = self.getContextClassLoader();
    try (PartOfTheClassPath noJackson = new PartOfTheClassPath(JACKSON_3, JACKSON_2)) {
      self.setContextClassLoader(noJackson);

      Pigeonhole application = Pigeonhole.of().direct(texts).build();
      assertThat(application.publish(Message.of("m-1", "hello")).answers()).isEmpty();
      assertThat(application.publish(Message.of("m-2", new byte[] {1})).answers()).isEmpty();
      assertThatThrownBy(() -> Pigeonhole.of().direct(orders).build())
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-PAY-05")
          .hasMessageContaining("tools.jackson.core:jackson-databind");
    } finally {
      self.setContextClassLoader(before);
    }
  }

  @Test
  void incompleteJacksonIsExplained() {
    assertThatThrownBy(() -> foundWithout("tools.jackson.core.StreamWriteConstraints"))
        .cause()
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("too old or incomplete")
        .hasMessageContaining("StreamWriteConstraints");
  }

  @Test
  void classPathOffersOneCodec() {
    assertThat(ServiceLoader.load(PayloadCodec.class))
        .hasOnlyElementsOfType(DefaultJsonCodec.class);
  }

  private static PayloadCodec foundWithout(String... hidden) throws Exception {
    return ServiceLoader.load(PayloadCodec.class, new PartOfTheClassPath(hidden))
        .findFirst()
        .orElseThrow();
  }

  /** Our main classes once more, in a place where some libraries are not to be seen. */
  private static final class PartOfTheClassPath extends URLClassLoader {
    private final String[] hidden;

    PartOfTheClassPath(String... hidden) {
      super(
          new URL[] {DefaultJsonCodec.class.getProtectionDomain().getCodeSource().getLocation()},
          DefaultJsonCodec.class.getClassLoader());
      this.hidden = hidden;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      for (String prefix : hidden) {
        if (name.startsWith(prefix)) {
          throw new ClassNotFoundException(name);
        }
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        if (loaded == null && name.startsWith("dev.pigeonhole.jackson.")) {
          try {
            loaded = findClass(name);
          } catch (ClassNotFoundException e) {
            // A class of the tests.
          }
        }
        return loaded == null ? super.loadClass(name, resolve) : loaded;
      }
    }
  }
}
