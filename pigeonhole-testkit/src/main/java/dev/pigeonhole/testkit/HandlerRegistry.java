package dev.pigeonhole.testkit;

import dev.pigeonhole.store.HandlerId;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Handler keys and their numbers. A new key joins the family of the first of its element that is
 * known. Families that somebody declared to be one after both had numbers keep them, and are
 * remembered as kin.
 */
final class HandlerRegistry {
  private final Map<String, HandlerId> byKey = new LinkedHashMap<>();

  /** Leads from a family to another of its kin; the last one of the chain leads nowhere. */
  private final Map<Integer, Integer> kin = new HashMap<>();

  List<HandlerId> register(List<String> keys) {
    @Nullable HandlerId first =
        keys.stream().map(byKey::get).filter(Objects::nonNull).findFirst().orElse(null);
    int family = first == null ? byKey.size() + 1 : first.family();
    List<HandlerId> ids = keys.stream().map(key -> id(key, family)).toList();
    for (HandlerId id : ids) {
      join(family, id.family());
    }
    return ids;
  }

  Collection<HandlerId> all() {
    return List.copyOf(byKey.values());
  }

  @Nullable HandlerId byKeyId(int keyId) {
    return byKey.values().stream().filter(id -> id.keyId() == keyId).findFirst().orElse(null);
  }

  /** The key itself, or nothing for a number that nobody has. */
  String keyOf(int keyId) {
    HandlerId id = byKeyId(keyId);
    return id == null ? "" : id.key();
  }

  /** Whether these two numbers stand for one handler. */
  boolean same(int one, int other) {
    return eldest(one) == eldest(other);
  }

  /** The numbers that stand for the same handler, this one first. */
  List<Integer> kin(int family) {
    Stream<Integer> others =
        byKey.values().stream()
            .map(HandlerId::family)
            .filter(each -> each != family && same(each, family));
    return Stream.concat(Stream.of(family), others).distinct().toList();
  }

  private HandlerId id(String key, int family) {
    return byKey.computeIfAbsent(key, k -> new HandlerId(k, byKey.size() + 1, family));
  }

  private void join(int one, int other) {
    int eldest = eldest(one);
    if (eldest != eldest(other)) {
      kin.put(eldest(other), eldest);
    }
  }

  private int eldest(int family) {
    int eldest = family;
    for (Integer next = kin.get(eldest); next != null; next = kin.get(eldest)) {
      eldest = next;
    }
    return eldest;
  }
}
