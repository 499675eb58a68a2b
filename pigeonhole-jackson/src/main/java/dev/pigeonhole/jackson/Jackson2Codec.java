package dev.pigeonhole.jackson;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.exc.StreamReadException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.KeyDeserializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.Module;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.cfg.MapperConfig;
import com.fasterxml.jackson.databind.exc.InvalidDefinitionException;
import com.fasterxml.jackson.databind.exc.InvalidTypeIdException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.PropertyBindingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.jsontype.PolymorphicTypeValidator;
import com.fasterxml.jackson.databind.jsontype.impl.LaissezFaireSubTypeValidator;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.codec.CodecException;
import dev.pigeonhole.codec.StructuredCodec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Payloads as JSON with Jackson 2, from 2.20 on.
 *
 * <p>Content never chooses a class: default typing is refused, and so are {@code @JsonTypeInfo} by
 * class name and properties of type {@link Class}. A closed set of subtypes by name works. A
 * document may be 200 levels deep, a number 100 digits and a property name 1,000 characters long;
 * there may be a million tokens. Properties do not repeat, and nothing follows the document. What
 * {@link #encode} returns has passed the same checks, so it can be read again.
 *
 * <p>Errors name the line, the column and the properties on the way, never a value.
 */
public final class Jackson2Codec implements StructuredCodec {
  private final ObjectMapper mapper;
  private final int maxLength;

  private Jackson2Codec(ObjectMapper given, int maxLength) {
    this.maxLength = Limits.checkedLength(maxLength);
    this.mapper = limited(given, maxLength);
  }

  /**
   * A codec for records and plain objects which writes the same bytes as {@link
   * JacksonCodec#create()}. The types of {@code java.time} need {@code jackson-datatype-jsr310} on
   * the class path, {@code java.util.Optional} needs {@code jackson-datatype-jdk8}.
   *
   * <p>Properties that the class does not know are ignored, so that senders may add some. A
   * primitive must be present; use {@code Integer} or {@code Optional} for what may be missing.
   * Enums go by name, times as ISO-8601 text with their own offset, numbers exactly. Properties and
   * the keys of maps are sorted: equal payloads become equal content.
   */
  public static Jackson2Codec create() {
    return new Jackson2Codec(safeDefaults(), Limits.LENGTH);
  }

  /**
   * A codec with the modules and settings of this mapper, which stays as it is. Limits, duplicate
   * detection and the refusal of trailing content are added to a copy; whether unknown properties
   * are ignored is up to the mapper, and Jackson 2 refuses them unless told otherwise.
   *
   * @throws ConfigurationException if the mapper has default typing or a validator for it, writes
   *     something else than JSON, or cannot be copied
   */
  public static Jackson2Codec using(ObjectMapper mapper) {
    MapperConfig<?> reading = mapper.getDeserializationConfig();
    MapperConfig<?> writing = mapper.getSerializationConfig();
    JavaType any = mapper.constructType(Object.class);
    if (reading.getDefaultTyper(any) != null
        || writing.getDefaultTyper(any) != null
        || reading.getPolymorphicTypeValidator().getClass() != LaissezFaireSubTypeValidator.class) {
      throw Complaints.defaultTyping();
    }
    String format = mapper.getFactory().getFormatName();
    if (!JsonFactory.FORMAT_NAME_JSON.equals(format)) {
      throw Complaints.unusable(mapper.getClass().getName(), "it writes " + format);
    }
    return new Jackson2Codec(mapper, Limits.LENGTH);
  }

  /**
   * The length in bytes that a document may have, and so the length of a string in it; 1,000,000 by
   * default, as for an inbox.
   *
   * @return a codec with this limit
   * @throws ConfigurationException if it is less than 1
   */
  public Jackson2Codec maxLength(int bytes) {
    return new Jackson2Codec(mapper, bytes);
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
    } catch (IOException | RuntimeException e) {
      CodecException tooLong = Causes.find(e, CodecException.class);
      throw tooLong != null ? tooLong : Complaints.unencodable(type, place(e, null), e);
    }
    byte[] encoded = output.toByteArray();
    try (JsonParser parser = mapper.createParser(encoded)) {
      check(parser, type);
    } catch (IOException e) {
      throw Complaints.unencodable(type, place(e, null), e);
    }
    return encoded;
  }

  private static void check(JsonParser parser, Class<?> type) {
    try {
      while (parser.nextToken() != null) {
        // Each token passes the limits of a reader.
      }
    } catch (IOException e) {
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
    } catch (IOException e) {
      throw complaint(type, e, place(e, null));
    }
  }

  private <T> @Nullable T read(JsonParser parser, Class<T> type) {
    try {
      return mapper.readerFor(type).readValue(parser);
    } catch (IOException | RuntimeException e) {
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
    } catch (IOException e) {
      throw complaint(Object.class, e, place(e, null));
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
    } catch (IOException | RuntimeException e) {
      throw complaint(Object.class, e, place(e, parser.currentLocation()));
    }
  }

  @Override
  public boolean mayHave(Class<?> type, String path) {
    return Jackson2Fields.mayHave(mapper, type, path);
  }

  private static CodecException complaint(Class<?> type, Exception e, Place place) {
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
    StreamReadException malformed = Causes.find(e, StreamReadException.class);
    if (malformed != null) {
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
  private static Place place(Exception e, @Nullable JsonLocation reached) {
    Place place = new Place();
    JsonLocation told = e instanceof JsonProcessingException jackson ? jackson.getLocation() : null;
    JsonLocation location = told == null ? reached : told;
    if (location != null) {
      place.position(location.getLineNr(), location.getColumnNr());
    }
    if (e instanceof JsonMappingException mapping) {
      mapping.getPath().forEach(it -> place.step(it.getFrom(), it.getFieldName(), it.getIndex()));
    }
    return place;
  }

  /** Each setting stands here even where it is the default, so that no upgrade changes it. */
  private static ObjectMapper safeDefaults() {
    return JsonMapper.builder(
            JsonFactory.builder()
                .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
                .build())
        .addModules(presentModules())
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
        .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
        .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
        .disable(DeserializationFeature.READ_ENUMS_USING_TO_STRING)
        .disable(SerializationFeature.WRITE_ENUMS_USING_TO_STRING)
        .disable(DeserializationFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
        .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
        .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
        .enable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
        .disable(SerializationFeature.FAIL_ON_ORDER_MAP_BY_INCOMPARABLE_KEY)
        .enable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
        .disable(MapperFeature.SORT_CREATOR_PROPERTIES_FIRST)
        .build();
  }

  private static List<Module> presentModules() {
    List<Module> modules = new ArrayList<>();
    if (ClassPath.has("com.fasterxml.jackson.datatype.jdk8.Jdk8Module")) {
      modules.add(Jdk8.module());
    }
    if (ClassPath.has("com.fasterxml.jackson.datatype.jsr310.JavaTimeModule")) {
      modules.add(Jsr310.module());
    }
    return modules;
  }

  private static ObjectMapper limited(ObjectMapper mapper, int maxLength) {
    ObjectMapper copy;
    try {
      copy = mapper.copy();
    } catch (IllegalStateException e) {
      throw Complaints.unusable(mapper.getClass().getName(), "it does not override copy()");
    }
    copy.getFactory()
        .setStreamReadConstraints(
            StreamReadConstraints.builder()
                .maxNestingDepth(Limits.DEPTH)
                .maxNumberLength(Limits.NUMBER)
                .maxNameLength(Limits.NAME)
                .maxTokenCount(Limits.TOKENS)
                .maxStringLength(maxLength)
                .maxDocumentLength(maxLength)
                .build())
        .setStreamWriteConstraints(
            StreamWriteConstraints.builder().maxNestingDepth(Limits.DEPTH).build());
    return copy.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
        .disable(JsonParser.Feature.INCLUDE_SOURCE_IN_LOCATION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .setPolymorphicTypeValidator(new NoClassNames())
        .registerModule(noClasses());
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

  /** Linked only where the module is present. */
  private static final class Jdk8 {
    static Module module() {
      return new Jdk8Module();
    }
  }

  /** Linked only where the module is present. */
  private static final class Jsr310 {
    static Module module() {
      return new JavaTimeModule();
    }
  }

  private static final class NoClass<T> extends JsonDeserializer<T> {
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
    public Validity validateBaseType(MapperConfig<?> config, JavaType type) {
      throw new ClassNameRefusedException(type.getRawClass());
    }

    @Override
    public Validity validateSubClassName(MapperConfig<?> config, JavaType type, String name) {
      return Validity.DENIED;
    }

    @Override
    public Validity validateSubType(MapperConfig<?> config, JavaType type, JavaType subType) {
      return Validity.DENIED;
    }
  }
}
