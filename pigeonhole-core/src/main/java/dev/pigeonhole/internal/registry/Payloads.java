package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.codec.StructuredCodec;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Locale;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** Payloads to bytes and back: bytes and text by themselves, everything else by the codec. */
public final class Payloads {
  /** A payload as it is stored. */
  public record Encoded(byte @Nullable [] content, String contentType) {}

  private static final String BYTES = "application/octet-stream";
  private static final String TEXT = "text/plain;charset=utf-8";
  private static final String JAVA_SERIALIZED = "application/x-java-serialized-object";

  private static final String SHARED = "application/x-pigeonhole-shared";

  private static final String ADD_ONE =
      "Add pigeonhole-jackson to the class path, or give a codec with .codec(…).";

  private final @Nullable PayloadCodec codec;
  private final String lacking;
  private final boolean sharing;

  private Payloads(@Nullable PayloadCodec codec, String lacking, boolean sharing) {
    this.codec = codec;
    this.lacking = lacking;
    this.sharing = sharing;
  }

  /**
   * With this codec, or else the one that the class path offers, or else none. A codec of the class
   * path that cannot work is none: whoever sends only bytes and text never misses it, and everybody
   * else is told what it lacks.
   */
  public static Payloads using(@Nullable PayloadCodec codec) {
    if (codec != null) {
      return new Payloads(codec, "", false);
    }
    try {
      Iterator<PayloadCodec> offered = ServiceLoader.load(PayloadCodec.class).iterator();
      return new Payloads(offered.hasNext() ? offered.next() : null, ADD_ONE, false);
    } catch (ServiceConfigurationError e) {
      if (e.getCause() instanceof ConfigurationException incomplete) {
        return new Payloads(null, incomplete.problems().get(0).text(), false);
      }
      throw e;
    }
  }

  /** The same for handlers of this process: what nobody can change needs no copy and no codec. */
  public Payloads sharing() {
    return new Payloads(codec, lacking, true);
  }

  /** The way out for whoever needs a codec and has none. */
  public String lacking() {
    return lacking;
  }

  /** Whether payloads of this class are handed on as they are; then they are not encoded. */
  public boolean shares(Class<?> type) {
    return sharing && Unchangeable.is(type);
  }

  /** Whether payloads of this type, in all its forms, can be stored at all. */
  public boolean supports(TypeSpec type) {
    return codec(type) != null
        || (supports(type.type()) && type.upcasts().stream().allMatch(it -> supports(it.type())));
  }

  private boolean supports(Class<?> type) {
    return type == byte[].class || type == String.class || shares(type);
  }

  private @Nullable PayloadCodec codec(TypeSpec type) {
    return type.codec() == null ? codec : type.codec();
  }

  public Encoded encode(Object payload, TypeSpec type) {
    if (shares(payload.getClass())) {
      return new Encoded(null, SHARED);
    }
    return encode(payload, codec(type));
  }

  /** Of something that is no message of a type: by the codec of all. */
  public Encoded encode(Object value) {
    return encode(value, codec);
  }

  private Encoded encode(Object payload, @Nullable PayloadCodec with) {
    if (payload instanceof byte[] bytes) {
      return new Encoded(bytes.clone(), BYTES);
    }
    if (payload instanceof String text) {
      return new Encoded(utf8(text), TEXT);
    }
    PayloadCodec chosen = required(with, payload.getClass());
    try {
      return new Encoded(chosen.encode(payload), chosen.contentType());
    } catch (CodecException e) {
      throw e;
    } catch (Throwable e) {
      Faults.passOnWhatIsNoMessages(e);
      throw new CodecException(
          ErrorCode.PAYLOAD_UNENCODABLE,
          "The codec failed on %s: %s. It must be able to write every payload of the type."
              .formatted(payload.getClass().getName(), e.getClass().getName()),
          e);
    }
  }

  /**
   * A fresh object of the type's present form; null where the message had no body and the type is
   * bytes or text.
   *
   * @param name the logical name that the message carries, which tells its form
   */
  public @Nullable Object decode(
      byte @Nullable [] content, String contentType, TypeSpec type, String name) {
    Upcast upcast = type.upcast(name);
    if (upcast == null) {
      return decode(content, contentType, type.type(), codec(type));
    }
    Object older = decode(content, contentType, upcast.type(), codec(type));
    try {
      return older == null ? null : type.type().cast(upcast.change().apply(older));
    } catch (RuntimeException e) {
      throw new CodecException(
          ErrorCode.PAYLOAD_UNDECODABLE,
          "The upcast from '%s' to '%s' failed: %s. Correct the upcast, and retry."
              .formatted(Names.shown(name), Names.shown(type.name()), e.getClass().getName()),
          e);
    }
  }

  /** What {@link #encode(Object)} has written. */
  public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
    return decode(content, contentType, type, codec);
  }

  private <T> @Nullable T decode(
      byte @Nullable [] content, String contentType, Class<T> type, @Nullable PayloadCodec with) {
    refuseSerialized(contentType);
    if (type == byte[].class) {
      return content == null ? null : type.cast(content.clone());
    }
    if (type == String.class) {
      return content == null ? null : type.cast(text(content, contentType));
    }
    return required(with, type).decode(content, contentType, type);
  }

  /** For bytes and text, too, and with the way out where there is none. */
  public PayloadCodec asCodec() {
    return new PayloadCodec() {
      @Override
      public String contentType() {
        return codec == null ? BYTES : codec.contentType();
      }

      @Override
      public byte[] encode(Object payload) {
        byte[] content = Payloads.this.encode(payload).content();
        return content == null ? new byte[0] : content;
      }

      @Override
      public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
        return Payloads.this.decode(content, contentType, type);
      }
    };
  }

  /**
   * The codec, if it can show content as fields.
   *
   * @param own the codec of a type; null for that of all
   */
  @Nullable StructuredCodec structured(@Nullable PayloadCodec own) {
    return (own == null ? codec : own) instanceof StructuredCodec structured ? structured : null;
  }

  /** A payload as its codec writes it, in maps, lists and values. */
  public @Nullable Object tree(Object payload, @Nullable PayloadCodec own) {
    StructuredCodec chosen = requiredStructured(own);
    return chosen.tree(chosen.encode(payload), chosen.contentType());
  }

  /** Content in maps, lists and values. */
  public @Nullable Object tree(byte[] content, String contentType, @Nullable PayloadCodec own) {
    refuseSerialized(contentType);
    return requiredStructured(own).tree(content, contentType);
  }

  private StructuredCodec requiredStructured(@Nullable PayloadCodec own) {
    StructuredCodec chosen = structured(own);
    if (chosen == null) {
      throw new ConfigurationException(
          ErrorCode.BUSINESS_KEY_INVALID,
          "There is no codec that can show content as fields, which a key needs. " + ADD_ONE);
    }
    return chosen;
  }

  /** Java serialization can run code while it is read; it is refused before anybody tries. */
  public static void refuseSerialized(String contentType) {
    if (contentType.strip().toLowerCase(Locale.ROOT).startsWith(JAVA_SERIALIZED)) {
      throw new CodecException(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          "Content of type %s is refused: reading serialized Java objects can run any code. Send"
                  .formatted(JAVA_SERIALIZED)
              + " JSON or another data format.",
          null);
    }
  }

  private PayloadCodec required(@Nullable PayloadCodec chosen, Class<?> type) {
    if (chosen == null) {
      throw new ConfigurationException(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          "There is no codec for %s. %s".formatted(type.getName(), lacking));
    }
    return chosen;
  }

  private static String text(byte[] content, String contentType) {
    Charset charset = charset(contentType);
    try {
      CharBuffer text = charset.newDecoder().decode(ByteBuffer.wrap(content));
      return text.toString();
    } catch (CharacterCodingException e) {
      throw new CodecException(
          ErrorCode.PAYLOAD_CHARSET,
          "The content is not %s, which its type '%s' promises. Correct the bytes, or the type."
              .formatted(charset, Names.shown(contentType)),
          e);
    }
  }

  /** Half a character has no bytes; replacing it would change what was sent. */
  private static byte[] utf8(String text) {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      return Arrays.copyOf(bytes.array(), bytes.limit());
    } catch (CharacterCodingException e) {
      throw new CodecException(
          ErrorCode.PAYLOAD_UNENCODABLE,
          "The text has half a character (a lone surrogate): it was cut or badly decoded. Cut text"
              + " between characters, or send the bytes.",
          e);
    }
  }

  private static Charset charset(String contentType) {
    for (String part : contentType.split(";", -1)) {
      String parameter = part.strip().toLowerCase(Locale.ROOT);
      if (parameter.startsWith("charset=")) {
        String name = parameter.substring("charset=".length()).replace("\"", "").strip();
        try {
          return Charset.forName(name);
        } catch (IllegalArgumentException e) {
          throw new CodecException(
              ErrorCode.PAYLOAD_CHARSET,
              "The charset '%s' of the content type is not known. Name one that Java knows."
                  .formatted(Names.shown(name)),
              e);
        }
      }
    }
    return StandardCharsets.UTF_8;
  }
}
