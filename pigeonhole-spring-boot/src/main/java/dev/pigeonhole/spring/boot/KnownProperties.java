package dev.pigeonhole.spring.boot;

import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;

/** The names that properties may have, those that they once had, and what somebody meant. */
final class KnownProperties {
  /** What was there under other names; the text says what to do instead. */
  private static final Map<String, String> FORMER =
      Map.ofEntries(
          Map.entry(
              "max-retries",
              "It is pigeonhole.inbox.retry.max-attempts now, and the first attempt counts."),
          Map.entry(
              "polling-interval",
              "It is pigeonhole.inbox.polling.min and pigeonhole.inbox.polling.max now."),
          Map.entry(
              "stuck-threshold",
              "It is gone: a handler may take as long as it likes. A node is dead after"
                  + " pigeonhole.inbox.dead-after."),
          Map.entry("lock", "It is gone: there is no lock to win."),
          Map.entry(
              "retention.lock-name", "It is gone: the row of the table retention is the lock."),
          Map.entry(
              "retention.interval", "It is gone: the pace follows from the times that are kept."),
          Map.entry(
              "retention.batch-size", "It is gone: the pace follows from the times that are kept."),
          Map.entry("reject-messages-without-key", "It is pigeonhole.inbox.missing-id=reject now."),
          Map.entry("missing-key", "It is pigeonhole.inbox.missing-id now."),
          Map.entry("retry.multiplier", "It is gone: waits double with each failure."),
          Map.entry("guard.auto-cleanup", "It is gone: old receipts are always forgotten."),
          Map.entry(
              "guard.cleanup-interval",
              "It is gone: the pace follows from the times that are kept."),
          Map.entry("jdbc.schema", "It is pigeonhole.jdbc.database-schema."),
          Map.entry("jdbc.platform", "It is gone: the database says what it is."),
          Map.entry("jdbc.validate", "It is gone: tables are always checked."));

  /** What stands before such a name: it may be said of all, of one inbox, or of one handler. */
  private static final Pattern BEFORE_FORMER =
      Pattern.compile("pigeonhole\\.(inbox\\.|(inboxes|handlers)\\.[^.]+\\.)?");

  private static final ConfigurationPropertyName ROOT = ConfigurationPropertyName.of("pigeonhole");

  private static final String NO_DIRECT_CHANNELS =
      "It does not exist: with Spring Boot every channel has an inbox, or the application does not"
          + " start. Direct channels are beans of Pigeonhole.";

  private KnownProperties() {}

  /** Every name; a star stands for any name of an inbox, a handler or a channel. */
  static List<String> names() {
    List<String> names = new ArrayList<>();
    collect("pigeonhole", PigeonholeProperties.class, names);
    return names;
  }

  private static void collect(String at, Class<?> type, List<String> names) {
    RecordComponent[] components = type.getRecordComponents();
    for (int i = 0; i < components.length; i++) {
      RecordComponent each = components[i];
      String name = at + "." + nameOf(each, type.getDeclaredConstructors()[0].getParameters()[i]);
      if (each.getType().isRecord()) {
        collect(name, each.getType(), names);
      } else if (each.getType() == Map.class
          && each.getGenericType() instanceof ParameterizedType map
          && map.getActualTypeArguments()[1] instanceof Class<?> value) {
        collect(name + ".*", value, names);
      } else {
        names.add(name);
      }
    }
  }

  private static String nameOf(RecordComponent component, Parameter parameter) {
    Name said = parameter.getAnnotation(Name.class);
    return said == null
        ? component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT)
        : said.value();
  }

  /** Whether a name stands in one of our groups, and there is no such property in it. */
  static boolean isMisspelt(ConfigurationPropertyName name) {
    if (name.getNumberOfElements() < 3 || !ROOT.isAncestorOf(name)) {
      return false;
    }
    // Of a list, somebody may give single elements.
    boolean element = name.isNumericIndex(name.getNumberOfElements() - 1);
    ConfigurationPropertyName whole = element ? name.getParent() : name;
    List<String> group =
        names().stream()
            .filter(each -> ConfigurationPropertyName.of(upTo(2, each)).equals(name.chop(2)))
            .toList();
    return !group.isEmpty() && group.stream().noneMatch(each -> stands(each, whole));
  }

  /** Spring Boot compares names, so that all ways to write them count. */
  private static boolean stands(String pattern, ConfigurationPropertyName name) {
    int before = pattern.contains(".*.") ? 3 : 2;
    return name.getNumberOfElements() > before
        && ConfigurationPropertyName.of(pattern.substring(upTo(before, pattern).length() + 1))
            .equals(name.subName(before));
  }

  private static String upTo(int elements, String name) {
    return Arrays.stream(name.split("\\.", -1)).limit(elements).collect(Collectors.joining("."));
  }

  /** What to do about a name that does not exist. */
  static String wayOut(String unknown) {
    if (unknown.equals("pigeonhole.inbox.channel-requirement")
        || unknown.endsWith(".allow-without-inbox")) {
      return NO_DIRECT_CHANNELS;
    }
    return former(BEFORE_FORMER.matcher(unknown).replaceFirst(""))
        .or(() -> nearest(unknown).map(each -> "Did you mean %s?".formatted(each)))
        .orElse("Remove it.");
  }

  private static Optional<String> former(String name) {
    return FORMER.entrySet().stream()
        .filter(each -> name.equals(each.getKey()) || name.startsWith(each.getKey() + "."))
        .map(Map.Entry::getValue)
        .findFirst();
  }

  static Optional<String> nearest(String unknown) {
    String nearest = null;
    int least = Math.max(3, unknown.length() / 4);
    for (String each : names()) {
      String name = like(each, unknown);
      int distance = distance(name, unknown);
      if (distance <= least) {
        nearest = name;
        least = distance - 1;
      }
    }
    return Optional.ofNullable(nearest);
  }

  /** With the name that somebody wrote in the place of the star. */
  private static String like(String pattern, String unknown) {
    String[] wanted = pattern.split("\\.", -1);
    String[] given = unknown.split("\\.", -1);
    if (wanted.length > 2 && wanted[2].equals("*") && given.length > 2) {
      wanted[2] = given[2];
    }
    return String.join(".", wanted);
  }

  /** How many letters have to change. */
  private static int distance(String one, String other) {
    int[] row = new int[other.length() + 1];
    for (int j = 0; j <= other.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= other.length(); j++) {
        int changed = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(changed, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[other.length()];
  }
}
