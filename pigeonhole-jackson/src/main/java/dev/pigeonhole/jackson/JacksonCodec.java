package dev.pigeonhole.jackson;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.StructuredCodec;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.StreamWriteConstraints;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.exc.InputCoercionException;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.DatabindContext;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.KeyDeserializer;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.cfg.EnumFeature;
import tools.jackson.databind.cfg.JsonNodeFeature;
import tools.jackson.databind.cfg.MapperConfig;
import tools.jackson.databind.exc.InvalidDefinitionException;
import tools.jackson.databind.exc.InvalidTypeIdException;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.exc.PropertyBindingException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.jsontype.DefaultBaseTypeLimitingValidator;
import tools.jackson.databind.jsontype.PolymorphicTypeValidator;
import tools.jackson.databind.module.SimpleModule;

/**
 * Payloads as JSON with Jackson 3.
 *
 * <p>Content never chooses a class: default typing is refused, and so are {@code @JsonTypeInfo} by
 * class name and properties of type {@link Class}. A closed set of subtypes by name works. A
 * document may be 200 levels deep, a number 100 digits and a property name 1,000 characters long;
 * there may be a million tokens. Properties do not repeat, and nothing follows the document. What
 * {@link #encode} returns has passed the same checks, so it can be read again.
 *
 * <p>Errors name the line, the column and the properties on the way, never a value.
 */
public final class JacksonCodec implements StructuredCodec {
  private final JsonMapper mapper;
  private final int maxLength;

  private JacksonCodec(JsonMapper given, int maxLength) {
    this.maxLength = Limits.checkedLength(maxLength);
    this.mapper = limited(given, maxLength);
  }

  /**
   * A codec for records, plain objects and the types of {@code java.time} and {@code
   * java.util.Optional}, which writes the same bytes as {@link Jackson2Codec#create()}.
   *
   * <p>Properties that the class does not know are ignored, so that senders may add some. A
   * primitive must be present; use {@code Integer} or {@code Optional} for what may be missing.
   * Enums go by name, times as ISO-8601 text with their own offset, numbers exactly. Properties and
   * the keys of maps are sorted: equal payloads become equal content.
   */
  public static JacksonCodec create() {
    return new JacksonCodec(safeDefaults(), Limits.LENGTH);
  }

  /**
   * A codec with the modules and settings of this mapper, which stays as it is. Limits, duplicate
   * detection and the refusal of trailing content are added to a copy; whether unknown properties
   * are ignored is up to the mapper.
   *
   * @throws ConfigurationException if the mapper has default typing or a validator for it
   */
  public static JacksonCodec using(JsonMapper mapper) {
    MapperConfig<?> reading = mapper.deserializationConfig();
    MapperConfig<?> writing = mapper.serializationConfig();
    JavaType any = mapper.constructType(Object.class);
    if (reading.getDefaultTyper(any) != null
        || writing.getDefaultTyper(any) != null
        || reading.getPolymorphicTypeValidator().getClass()
            != DefaultBaseTypeLimitingValidator.class) {
      throw Complaints.defaultTyping();
    }
    return new JacksonCodec(mapper, Limits.LENGTH);
  }

  /**
   * The length in bytes that a document may have, and so the length of a string in it; 1,000,000 by
   * default, as for an inbox.
   *
   * @return a codec with this limit
   * @throws ConfigurationException if it is less than 1
   */
  public JacksonCodec maxLength(int bytes) {
    return new JacksonCodec(mapper, bytes);
  }

  @Override
  public String contentType() {
    return "application/json";
  }

  @Override
  public byte[] encode(Object payload) {
    Class<?> type = payload.getClass();
    BoundedOutput output = new BoundedOutput(maxLength);
    try {
      writer(type).writeValue(output, payload);
    } catch (RuntimeException e) {
      CodecException tooLong = Causes.find(e, CodecException.class);
      throw tooLong != null ? tooLong : Complaints.unencodable(type, place(e, null), e);
    }
    byte[] encoded = output.toByteArray();
    try (JsonParser parser = mapper.createParser(encoded)) {
      check(parser, type);
    }
    return encoded;
  }

  private static void check(JsonParser parser, Class<?> type) {
    try {
      while (parser.nextToken() != null) {
        // Each token passes the limits of a reader.
      }
    } catch (JacksonException e) {
      Place place = place(e, parser.currentLocation());
      throw Complaints.unreadable(type, complaint(type, e, place));
    }
  }

  private ObjectWriter writer(Class<?> type) {
    ObjectWriter writer = mapper.writer();
    return type.isRecord() && type.getRecordComponents().length == 0
        ? writer.without(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        : writer;
  }

  @Override
  public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
    String text = JsonText.of(content, contentType, maxLength);
    try (JsonParser parser = mapper.createParser(text)) {
      return read(parser, type);
    }
  }

  private <T> @Nullable T read(JsonParser parser, Class<T> type) {
    try {
      return mapper.readerFor(type).readValue(parser);
    } catch (RuntimeException e) {
      throw complaint(type, e, place(e, parser.currentLocation()));
    }
  }

  /**
   * Numbers keep every digit, and arrays are lists, whatever the mapper makes of them elsewhere.
   */
  @Override
  public @Nullable Object tree(byte[] content, String contentType) {
    String text = JsonText.of(content, contentType, maxLength);
    try (JsonParser parser = mapper.createParser(text)) {
      return tree(parser);
    }
  }

  private @Nullable Object tree(JsonParser parser) {
    try {
      return mapper
          .readerFor(Object.class)
          .with(
              DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS,
              DeserializationFeature.USE_BIG_INTEGER_FOR_INTS)
          .without(DeserializationFeature.USE_JAVA_ARRAY_FOR_JSON_ARRAY)
          .readValue(parser);
    } catch (RuntimeException e) {
      throw complaint(Object.class, e, place(e, parser.currentLocation()));
    }
  }

  @Override
  public boolean mayHave(Class<?> type, String path) {
    return JacksonFields.mayHave(mapper, type, path);
  }

  private static CodecException complaint(Class<?> type, RuntimeException e, Place place) {
    StreamConstraintsException limit = Causes.find(e, StreamConstraintsException.class);
    if (limit != null) {
      return Complaints.overLimits(type, limit.getOriginalMessage(), place, e);
    }
    if (Causes.find(e, ClassNameRefusedException.class) != null) {
      return Complaints.classChosen(type, place, e);
    }
    if (e instanceof InvalidTypeIdException) {
      return Complaints.subtypeUnknown(type, place, e);
    }
    InputCoercionException overflow = Causes.find(e, InputCoercionException.class);
    if (overflow != null) {
      return Complaints.misfit(type, overflow.getTargetType().getTypeName(), place, e);
    }
    if (e instanceof StreamReadException malformed) {
      return Complaints.malformed(type, malformed.getOriginalMessage(), place, e);
    }
    if (e instanceof PropertyBindingException) {
      return Complaints.propertyUnknown(type, place, e);
    }
    if (e instanceof MismatchedInputException misfit && misfit.getCause() == null) {
      Class<?> wanted = misfit.getTargetType();
      return Complaints.misfit(type, (wanted == null ? type : wanted).getTypeName(), place, e);
    }
    if (e instanceof InvalidDefinitionException definition) {
      JavaType broken = definition.getType();
      return Complaints.classUnreadable(
          type, (broken == null ? type : broken.getRawClass()).getTypeName(), place, e);
    }
    return Complaints.refused(type, place, e);
  }

  /** Limits are passed without a location; then the position of the parser is the next best. */
  private static Place place(RuntimeException e, @Nullable TokenStreamLocation reached) {
    Place place = new Place();
    TokenStreamLocation told = e instanceof JacksonException jackson ? jackson.getLocation() : null;
    TokenStreamLocation location = told == null ? reached : told;
    if (location != null) {
      place.position(location.getLineNr(), location.getColumnNr());
    }
    if (e instanceof JacksonException jackson) {
      jackson.getPath().forEach(it -> place.step(it.from(), it.getPropertyName(), it.getIndex()));
    }
    return place;
  }

  /** Each setting stands here even where it is the default, so that no upgrade changes it. */
  private static JsonMapper safeDefaults() {
    return JsonMapper.builder()
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
        .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
        .enable(EnumFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
        .disable(EnumFeature.READ_ENUMS_USING_TO_STRING, EnumFeature.WRITE_ENUMS_USING_TO_STRING)
        .disable(DateTimeFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
        .disable(DateTimeFeature.WRITE_DATES_AS_TIMESTAMPS)
        .disable(DateTimeFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
        .enable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
        .disable(SerializationFeature.FAIL_ON_ORDER_MAP_BY_INCOMPARABLE_KEY)
        .enable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
        .disable(MapperFeature.SORT_CREATOR_PROPERTIES_FIRST)
        .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
        .build();
  }

  private static JsonMapper limited(JsonMapper mapper, int maxLength) {
    JsonFactory factory =
        mapper
            .tokenStreamFactory()
            .rebuild()
            .streamReadConstraints(
                StreamReadConstraints.builder()
                    .maxNestingDepth(Limits.DEPTH)
                    .maxNumberLength(Limits.NUMBER)
                    .maxNameLength(Limits.NAME)
                    .maxTokenCount(Limits.TOKENS)
                    .maxStringLength(maxLength)
                    .maxDocumentLength(maxLength)
                    .build())
            .streamWriteConstraints(
                StreamWriteConstraints.builder().maxNestingDepth(Limits.DEPTH).build())
            .build();
    return new FactoryReplacer(mapper, factory)
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .polymorphicTypeValidator(new NoClassNames())
        .addModule(noClasses())
        .build();
  }

  /** A module of Jackson loads and initialises the class that the text names; this one does not. */
  private static SimpleModule noClasses() {
    SimpleModule module = new SimpleModule("pigeonhole-no-classes");
    module.addDeserializer(Class.class, new NoClass<>(Class.class));
    module.addDeserializer(JavaType.class, new NoClass<>(JavaType.class));
    module.addKeyDeserializer(
        Class.class,
        new KeyDeserializer() {
          @Override
          public Object deserializeKey(String key, DeserializationContext context) {
            throw new ClassNameRefusedException(Class.class);
          }
        });
    return module;
  }

  /** The only way to give a copy of a mapper another factory. */
  private static final class FactoryReplacer extends JsonMapper.Builder {
    FactoryReplacer(JsonMapper mapper, JsonFactory factory) {
      super((StateImpl) mapper.rebuild().saveStateApplyModules());
      _streamFactory = factory;
    }
  }

  private static final class NoClass<T> extends ValueDeserializer<T> {
    private final Class<T> type;

    NoClass(Class<T> type) {
      this.type = type;
    }

    @Override
    public T deserialize(JsonParser parser, DeserializationContext context) {
      throw new ClassNameRefusedException(type);
    }
  }

  /** Asked only where a class asks for subtypes by class name; says no before content is read. */
  private static final class NoClassNames extends PolymorphicTypeValidator {
    private static final long serialVersionUID = 1L;

    @Override
    public Validity validateBaseType(DatabindContext context, JavaType type) {
      throw new ClassNameRefusedException(type.getRawClass());
    }

    @Override
    public Validity validateSubClassName(DatabindContext context, JavaType type, String name) {
      return Validity.DENIED;
    }

    @Override
    public Validity validateSubType(DatabindContext context, JavaType type, JavaType subType) {
      return Validity.DENIED;
    }
  }
}
