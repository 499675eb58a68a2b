package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Acceptance.Rejected;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.Faults;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.internal.registry.KeyStrategy;
import dev.pigeonhole.internal.registry.Lookalikes;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.internal.registry.Spans;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The edge: turns a message into what the store takes, or says what is wrong with it. Everything
 * that can be checked without the database is checked here, before the message joins a group, so
 * that one bad message never sinks its neighbours.
 */
public final class Intake {
  /** The limits of one inbox. */
  public record Limits(int lanes, int maxPayload, int maxHeaders, int maxHeaderBytes) {}

  /**
   * Exactly one of message and rejected is there.
   *
   * @param idMade whether it came without an id and has one now
   * @param keyMissing whether it came without the business key of its type
   * @param ignored whether nobody takes it and nobody wants it stored
   * @param inline who takes it where it is handed in
   */
  public record Checked(
      @Nullable NewMessage message,
      @Nullable Rejected rejected,
      boolean idMade,
      boolean keyMissing,
      boolean ignored,
      List<InlineCall> inline) {

    /** Whether nothing of it is for the acceptor of the store. */
    public boolean allInline() {
      return message != null && message.handlers().isEmpty() && !inline.isEmpty();
    }
  }

  /** A message of a known type, on its way in. */
  private record Arrival(
      ChannelSpec channel,
      TypeSpec type,
      Message message,
      String typeName,
      Selectable selectable,
      byte[] contentHash) {}

  /**
   * What a message is known by, not yet checked.
   *
   * @param byKey whether it is a business key, or stands for one
   */
  private record Identity(
      String source, @Nullable String id, boolean byKey, boolean idMade, boolean keyMissing) {}

  private static final int LONGEST_ID = 200;
  private static final int LONGEST_SOURCE = 250;
  private static final Instant EARLIEST = Instant.parse("1000-01-01T00:00:00Z");
  private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");

  private final Registry registry;
  private final Payloads payloads;
  private final Limits limits;
  private final InstantSource clock;
  private final Lookalikes lookalikes = new Lookalikes();

  public Intake(Registry registry, Payloads payloads, Limits limits, InstantSource clock) {
    this.registry = registry;
    this.payloads = payloads;
    this.limits = limits;
    this.clock = clock;
  }

  public Checked check(ChannelSpec channel, Message message) {
    try {
      return convert(channel, message);
    } catch (InboxException e) {
      String reason = e.getMessage() == null ? "" : e.getMessage();
      return new Checked(null, new Rejected(e.code(), reason), false, false, false, List.of());
    }
  }

  private Checked convert(ChannelSpec channel, Message message) {
    TypeSpec type = type(channel, message);
    Payloads.Encoded encoded = encoded(message, type);
    String typeName = message.type().orElseGet(() -> type == null ? "" : type.name());
    checkType(typeName);
    checkSize(encoded);
    byte[] contentHash = Hashes.content(encoded.contentType(), encoded.content());
    Selectable selectable = type == null ? null : new Selectable(payloads, type, message, encoded);
    Arrival arrival =
        type == null || selectable == null
            ? null
            : new Arrival(channel, type, message, typeName, selectable, contentHash);
    Identity identity =
        arrival != null && arrival.type().key().isPresent()
            ? byKey(arrival, arrival.type().key(), "type " + Names.shown(arrival.type().name()))
            : byId(channel, message, typeName, contentHash, false);
    String source = identity.source();
    String checkedId = checkId(identity.id());
    checkSource(source);
    checkTransport(message.transport());
    String orderingKey = orderingKey(type, message, selectable);
    if (type == null) {
      lookalikes.look(channel, typeName);
    }
    List<HandlerId> handlers = type == null ? List.of() : registry.handlersOf(type);
    List<BoundHandler> inline = type == null ? List.of() : registry.inlineOf(type);
    boolean unhandled = type == null || type.handlers().isEmpty();
    if (unhandled && channel.unhandled() == Unhandled.REJECT) {
      throw reject(
          ErrorCode.TYPE_UNHANDLED,
          "No handler of channel '%s' takes messages of type '%s'. Add one, or let the channel keep"
                  .formatted(channel.name(), Names.shown(typeName))
              + " or ignore such messages with .unhandled(…).");
    }
    long hash = orderingKey == null ? Hashes.identity(source, checkedId) : Hashes.key(orderingKey);
    Instant notBefore = notBefore(message);
    if (notBefore != null && !inline.isEmpty()) {
      throw reject(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "The message must wait until %s, and the inline handler '%s' of channel '%s' cannot. Send"
                  .formatted(notBefore, inline.get(0).key(), channel.name())
              + " it later, or let the handler take stored messages.");
    }
    NewMessage taken =
        new NewMessage(
            source,
            checkedId,
            typeName,
            type == null ? List.of(typeName) : type.names(),
            channel.name(),
            message.transport(),
            Hashes.lane(hash, limits.lanes()),
            orderingKey == null ? null : hash,
            orderingKey,
            encoded.content(),
            encoded.contentType(),
            headers(message),
            contentHash,
            onConflict(identity, channel),
            occurredAt(message),
            notBefore,
            handlers,
            place(message, orderingKey, notBefore));
    boolean ignored = unhandled && channel.unhandled() == Unhandled.IGNORE;
    boolean keyMissing = identity.keyMissing();
    List<InlineCall> calls = new ArrayList<>(inline.size());
    for (BoundHandler handler : inline) {
      KeyStrategy own = handler.ownKey();
      if (own == null || arrival == null) {
        calls.add(new InlineCall(handler, taken));
      } else {
        Identity known = byKey(arrival, own, "handler '" + handler.key() + "'");
        keyMissing |= known.keyMissing();
        calls.add(new InlineCall(handler, under(known, taken, channel)));
      }
    }
    return new Checked(taken, null, identity.idMade(), keyMissing, ignored, calls);
  }

  /** As one handler alone knows it. */
  private NewMessage under(Identity known, NewMessage message, ChannelSpec channel) {
    String id = checkId(known.id());
    checkSource(known.source());
    return message.under(
        known.source(),
        id,
        message.orderingKey() == null
            ? Hashes.lane(Hashes.identity(known.source(), id), limits.lanes())
            : message.lane(),
        onConflict(known, channel));
  }

  /** With a key the identity alone decides; a republished message differs in its bytes. */
  private static OnConflict onConflict(Identity identity, ChannelSpec channel) {
    return identity.byKey() ? OnConflict.REPEAT : channel.onConflict();
  }

  private Identity byId(
      ChannelSpec channel, Message message, String type, byte[] contentHash, boolean keyMissing) {
    String source = message.source().orElse(channel.name());
    if (registry.isKeySource(source)) {
      throw reject(
          ErrorCode.SOURCE_INVALID,
          ("The source '%s' stands for business keys of this inbox, and this message has none: its"
                  + " id could be taken for one. Use another source.")
              .formatted(Names.shown(source)));
    }
    String id = message.id();
    boolean make = (id == null || id.isEmpty()) && channel.onMissingId() != OnMissingId.REJECT;
    return new Identity(
        source,
        make ? madeId(channel.onMissingId(), type, contentHash) : id,
        false,
        make,
        keyMissing);
  }

  /**
   * @param whose the key is, for people
   */
  private Identity byKey(Arrival arrival, KeyStrategy strategy, String whose) {
    TypeSpec type = arrival.type();
    byte[] contentHash = arrival.contentHash();
    String key = strategy.key(arrival.selectable());
    if (key != null) {
      return new Identity(type.keySource(), key, true, false, false);
    }
    OnMissingKey policy = type.onMissingKey();
    if (policy == OnMissingKey.USE_ID) {
      return byId(arrival.channel(), arrival.message(), arrival.typeName(), contentHash, true);
    }
    if (policy == OnMissingKey.ACCEPT_EVERY_COPY) {
      return new Identity(type.keySource(), "random-" + UUID.randomUUID(), true, false, true);
    }
    if (policy == OnMissingKey.HASH_CONTENT) {
      String made = "content-" + HexFormat.of().formatHex(contentHash);
      return new Identity(type.keySource(), made, true, false, true);
    }
    String place = strategy.place();
    throw reject(
        ErrorCode.KEY_SELECTOR_FAILED,
        ("The message has no business key: what %s takes it from%s is not there, or blank. Send it,"
                + " or let such messages in with .missingKey(…).")
            .formatted(whose, place.isEmpty() ? "" : ", " + place + ","));
  }

  /** The same content under another type is another message. */
  private static String madeId(OnMissingId policy, String type, byte[] contentHash) {
    return policy == OnMissingId.HASH_CONTENT
        ? "content-" + HexFormat.of().formatHex(Hashes.content(type, contentHash))
        : "random-" + UUID.randomUUID();
  }

  private Payloads.Encoded encoded(Message message, @Nullable TypeSpec type) {
    if (type == null || message.type().isPresent()) {
      String contentType = message.contentType().orElse("application/octet-stream");
      Payloads.refuseSerialized(contentType);
      if (!Names.isText(contentType, 200)) {
        throw reject(
            ErrorCode.PAYLOAD_CHARSET,
            "The content type '%s' is not usable: 1 to 200 characters, no control characters."
                .formatted(Names.shown(contentType)));
      }
      byte[] content = (byte[]) message.payload();
      return new Payloads.Encoded(content == null ? null : content.clone(), contentType);
    }
    return payloads.encode(payload(message), type);
  }

  private static Object payload(Message message) {
    Object payload = message.payload();
    if (payload == null) {
      throw reject(
          ErrorCode.PAYLOAD_UNENCODABLE,
          "The payload is null, which names no type. Use Message.encoded(…) for a missing body.");
    }
    return payload;
  }

  private @Nullable TypeSpec type(ChannelSpec channel, Message message) {
    if (message.type().isPresent()) {
      return Registry.typeNamed(channel, message.type().get());
    }
    Class<?> payload = payload(message).getClass();
    TypeSpec type = Registry.typeOf(channel, payload);
    if (type == null) {
      throw reject(
          ErrorCode.TYPE_NOT_REGISTERED,
          "Channel '%s' has no handler for %s and no name to store it under. Declare .on(%s.class)."
              .formatted(channel.name(), payload.getName(), payload.getSimpleName()));
    }
    return type;
  }

  private static void checkType(String name) {
    if (!Names.isText(name, 200)) {
      throw reject(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          "The type name '%s' is not usable: 1 to 200 characters, not blank, no control characters."
              .formatted(Names.shown(name)));
    }
  }

  private void checkSize(Payloads.Encoded encoded) {
    byte[] content = encoded.content();
    if (content != null && content.length > limits.maxPayload()) {
      throw reject(
          ErrorCode.PAYLOAD_TOO_LARGE,
          ("The payload has %d bytes, the limit is %d. Send a reference to it, or raise"
                  + " .maxPayload(…).")
              .formatted(content.length, limits.maxPayload()));
    }
  }

  private @Nullable String orderingKey(
      @Nullable TypeSpec type, Message message, @Nullable Selectable selectable) {
    String key = message.orderingKey().orElse(null);
    if (key == null && type != null && selectable != null && type.orderingKey() != null) {
      try {
        Object payload = selectable.payload();
        if (payload == null) {
          throw reject(
              ErrorCode.KEY_SELECTOR_FAILED,
              "The message has no body to select an ordering key of %s from. Send the key with it."
                  .formatted(type.name()));
        }
        key = type.orderingKey().apply(payload);
      } catch (InboxException e) {
        throw e;
      } catch (Throwable e) {
        Faults.passOnWhatIsNoMessages(e);
        throw new InboxException(
            ErrorCode.ORDERING_KEY_INVALID,
            "The ordering key selector of %s threw %s. Let it answer null where there is no order."
                .formatted(type.name(), e.getClass().getName()),
            e);
      }
    }
    if (key == null) {
      return null;
    }
    if (!Names.isText(key, LONGEST_ID)) {
      throw reject(
          ErrorCode.ORDERING_KEY_INVALID,
          ("The ordering key '%s' is not usable: 1 to 200 characters, not blank, no control"
                  + " characters, no lone surrogates. Leave it out for a message without order.")
              .formatted(Names.shown(key)));
    }
    return key;
  }

  /** The id, if one can be known by it. */
  public static String checkId(@Nullable String id) {
    if (id == null || id.isEmpty()) {
      throw reject(
          ErrorCode.ID_MISSING,
          "The message has no id, so a repeat could not be told from a new message. Set one, or"
              + " select a business key with .keyedBy(…).");
    }
    if (Names.isBlank(id)) {
      throw reject(ErrorCode.ID_BLANK, "The message id is blank. Set a real one.");
    }
    if (points(id) > LONGEST_ID) {
      throw reject(
          ErrorCode.ID_TOO_LONG,
          "The id or key '%s' has %d characters, the limit is %d. Send a shorter one or its hash."
              .formatted(Names.shown(id), points(id), LONGEST_ID));
    }
    checkCharacters("id or key", id, ErrorCode.ID_CONTROL_CHARACTER);
    return id;
  }

  /** Refuses what no message can come from. */
  public static void checkSource(String source) {
    if (!Names.isText(source, LONGEST_SOURCE)) {
      throw reject(
          ErrorCode.SOURCE_INVALID,
          ("The source '%s' is not usable: 1 to %d characters, not blank, no control characters, no"
                  + " lone surrogates. Leave it out to use the channel's name.")
              .formatted(Names.shown(source), LONGEST_SOURCE));
    }
  }

  private static void checkTransport(String transport) {
    if (!Names.valid(transport)) {
      throw reject(
          ErrorCode.NAME_INVALID,
          "The transport '%s' is not usable. %s".formatted(Names.shown(transport), Names.RULE));
    }
  }

  private static void checkCharacters(String what, String value, ErrorCode control) {
    int at = Names.badCharacter(value);
    if (at < 0) {
      return;
    }
    char bad = value.charAt(at);
    if (Character.isSurrogate(bad)) {
      throw reject(
          ErrorCode.ID_INVALID_UNICODE,
          ("The %s '%s' has half a character (U+%04X) at position %d: it was cut or badly decoded."
                  + " Decode it with the right charset, and cut between characters.")
              .formatted(what, Names.shown(value), (int) bad, at));
    }
    throw reject(
        control,
        ("The %s '%s' has the control character U+%04X at position %d. Let the producer leave it"
                + " out: nothing is stripped.")
            .formatted(what, Names.shown(value), (int) bad, at));
  }

  private byte[] headers(Message message) {
    int count = message.headers().asMap().size();
    if (count > limits.maxHeaders()) {
      throw reject(
          ErrorCode.HEADERS_TOO_LARGE,
          "The message has %d headers, the limit is %d. Send fewer, or raise .maxHeaders(…)."
              .formatted(count, limits.maxHeaders()));
    }
    for (String name : message.headers().asMap().keySet()) {
      if (name == null || name.isEmpty() || Names.badCharacter(name) >= 0) {
        throw reject(
            ErrorCode.HEADER_NAME_INVALID,
            "The header name '%s' is empty or has a control character. Rename the header."
                .formatted(Names.shown(String.valueOf(name))));
      }
    }
    byte[] bytes = HeaderFormat.encode(message.headers());
    if (bytes.length > limits.maxHeaderBytes()) {
      throw reject(
          ErrorCode.HEADERS_TOO_LARGE,
          "The headers have %d bytes together, the limit is %d. Send less, or raise .maxHeaders(…)."
              .formatted(bytes.length, limits.maxHeaderBytes()));
    }
    return bytes;
  }

  private static @Nullable Instant occurredAt(Message message) {
    Instant at = message.occurredAt().orElse(null);
    if (at == null) {
      return null;
    }
    if (at.isBefore(EARLIEST) || at.isAfter(LATEST)) {
      throw reject(
          ErrorCode.TIMESTAMP_OUT_OF_RANGE,
          "occurredAt is %s; databases keep the years 1000 to 9999. Is the unit right?"
              .formatted(at));
    }
    return at.truncatedTo(ChronoUnit.MICROS);
  }

  private @Nullable Instant notBefore(Message message) {
    Instant now = clock.instant();
    Instant at =
        message.delay().map(delay -> later(now, delay)).or(message::notBefore).orElse(null);
    if (at == null) {
      return null;
    }
    if (!at.isAfter(now)) {
      return null; // a time in the past means now
    }
    if (at.isAfter(now.plus(Spans.LONGEST_WAIT))) {
      throw reject(
          ErrorCode.NOT_BEFORE_OUT_OF_RANGE,
          "notBefore is %s, more than ten years ahead. Is the unit right?".formatted(at));
    }
    return at.truncatedTo(ChronoUnit.MICROS);
  }

  /** A wait that no clock can count is as wrong as one of eleven years. */
  private static Instant later(Instant now, Duration delay) {
    return delay.compareTo(Spans.LONGEST_WAIT) > 0
        ? now.plus(Spans.LONGEST_WAIT).plusSeconds(1)
        : now.plus(delay.isNegative() ? Duration.ZERO : delay);
  }

  /** Only a message that could be tried at once can go before others, or behind them. */
  private long place(Message message, @Nullable String orderingKey, @Nullable Instant notBefore) {
    int priority = message.priority();
    if (priority < Priority.LOWEST || priority > Priority.HIGHEST) {
      throw reject(
          ErrorCode.PRIORITY_OUT_OF_RANGE,
          "The priority is %d; it goes from %d to %d, the highest first."
              .formatted(priority, Priority.LOWEST, Priority.HIGHEST));
    }
    return priority == Priority.NORMAL || orderingKey != null || notBefore != null
        ? 0
        : Priority.place(priority, clock.instant());
  }

  private static int points(String value) {
    return value.codePointCount(0, value.length());
  }

  private static InboxException reject(ErrorCode code, String reason) {
    return new InboxException(code, reason);
  }
}
