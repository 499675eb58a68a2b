package dev.pigeonhole.internal.registry;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns of a type name that a channel does not know although it knows a very similar one: such a
 * message is kept without deliveries, and a slip of the producer would look like silence. A name
 * that resembles nothing says nothing: that a channel takes only some of what arrives is normal.
 */
public final class Lookalikes {
  private static final Logger LOG = LoggerFactory.getLogger(Lookalikes.class);

  /** Names come from outside; whoever sends a new one every time shall not fill the memory. */
  private static final int MOST_NAMES = 1_000;

  private final Set<String> seen = ConcurrentHashMap.newKeySet();

  /** Looks at a name that no type of the channel answers to; the first time only. */
  public void look(ChannelSpec channel, String name) {
    if (seen.size() >= MOST_NAMES || !seen.add(channel.name() + "\n" + name)) {
      return;
    }
    String known = nearest(channel, name);
    if (known != null) {
      LOG.warn(
          "Channel '{}' has no type '{}', so its messages are kept without a delivery. It has '{}',"
              + " which is similar: correct the producer, or add the name with .named(…).",
          channel.name(),
          Names.shown(name),
          Names.shown(known));
    }
  }

  /** The known name that this one was probably meant to be, or null. */
  static @Nullable String nearest(ChannelSpec channel, String name) {
    String nearest = null;
    int best = Integer.MAX_VALUE;
    for (TypeSpec type : channel.types()) {
      int distance = Integer.MAX_VALUE;
      for (String known : type.names()) {
        distance = Math.min(distance, distance(name, known));
      }
      if (distance < best) {
        best = distance;
        nearest = type.name();
      }
    }
    return nearest;
  }

  /** The one of these names that this one was probably meant to be, or null. */
  public static @Nullable String nearest(Collection<String> known, String name) {
    return known.stream()
        .filter(each -> distance(name, each) < Integer.MAX_VALUE)
        .min(Comparator.comparingInt(each -> distance(name, each)))
        .orElse(null);
  }

  /** How many slips are between the two; {@link Integer#MAX_VALUE} where they are too many. */
  private static int distance(String name, String known) {
    if (qualifies(name, known) || qualifies(known, name)) {
      return 0;
    }
    String one = folded(name);
    String other = folded(known);
    int allowed = Math.max(one.length(), other.length()) / 5; // none in a short name
    if (Math.abs(one.length() - other.length()) > allowed) {
      return Integer.MAX_VALUE;
    }
    int slips = slips(one, other);
    return slips <= allowed ? slips : Integer.MAX_VALUE;
  }

  /** Whether the first is the second with its package in front. */
  private static boolean qualifies(String name, String known) {
    return name.endsWith("." + known) || name.endsWith("$" + known);
  }

  /** Without what people write differently: {@code OrderPlaced}, {@code order-placed}. */
  private static String folded(String name) {
    String letters = name.replaceAll("[^\\p{L}\\p{N}]", "").toLowerCase(Locale.ROOT);
    return letters.isEmpty() ? name : letters;
  }

  /** Characters to insert, drop or change (Levenshtein). */
  private static int slips(String one, String other) {
    int[] above = new int[other.length() + 1];
    for (int j = 0; j < above.length; j++) {
      above[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      int[] row = new int[above.length];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int change = one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1;
        row[j] = Math.min(above[j - 1] + change, Math.min(above[j], row[j - 1]) + 1);
      }
      above = row;
    }
    return above[other.length()];
  }
}
