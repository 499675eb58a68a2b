package dev.pigeonhole.lease;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.internal.dispatch.Intake;
import dev.pigeonhole.internal.guard.NamedKeys;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.TypeSpec;

/** The one text that a store knows a key by: readable, and another one for every other key. */
final class StoredNames {
  private StoredNames() {}

  /** As {@code charge-card/key of ChargeCard/r-17}. */
  static String of(String handler, MessageRef ref) {
    return handler + "/" + escaped(ref.source()) + "/" + escaped(ref.id());
  }

  /**
   * What a key stands for, checked before anything runs.
   *
   * @throws MissingKeyException if there is no key
   */
  static MessageRef ref(GuardKey key, Payloads payloads) {
    String handler = key.handler().key();
    if (!Names.valid(handler)) {
      throw new InboxException(
          ErrorCode.NAME_INVALID,
          "The handler key '%s' is not usable. %s".formatted(Names.shown(handler), Names.RULE));
    }
    if (!key.handler().formerKeys().isEmpty()) {
      throw new ConfigurationException(
          ErrorCode.OPTION_NOT_APPLICABLE,
          ("Handler '%s' has former keys, but a store of leases knows a handler by one name alone."
                  + " Go on using the name that it had first.")
              .formatted(handler));
    }
    String id = NamedKeys.of(key, payloads);
    if (id == null) {
      throw new MissingKeyException(
          "There is no key for '%s' of %s, so a repeat could not be told from something new. %s."
              .formatted(handler, Names.shown(key.type()), NamedKeys.wayOut(key)));
    }
    String source = key.source() == null ? TypeSpec.keySource(key.type()) : key.source();
    Intake.checkSource(source);
    return new MessageRef(source, Intake.checkId(id));
  }

  /** So that a slash inside a part is not taken for one between parts. */
  private static String escaped(String part) {
    return part.replace("%", "%25").replace("/", "%2F");
  }
}
