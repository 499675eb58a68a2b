package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.TypeSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Compares how long messages are known with how long their sources may deliver them again. Whatever
 * comes in between is handled a second time, and nobody would notice.
 */
final class Horizons {

  private Horizons() {}

  static List<String> warnings(InboxSettings settings, List<ChannelSpec> channels) {
    List<String> warnings = new ArrayList<>();
    for (Sources.Feed feed : settings.feeds()) {
      Optional<Duration> horizon = feed.source().repeatHorizon();
      for (ChannelSpec channel : channels) {
        if (horizon.isPresent() && channel.name().equals(feed.channel())) {
          compare(settings, channel, feed, horizon.get(), warnings);
        }
      }
    }
    return warnings;
  }

  private static void compare(
      InboxSettings settings,
      ChannelSpec channel,
      Sources.Feed feed,
      Duration horizon,
      List<String> warnings) {
    for (TypeSpec type : channel.types()) {
      Duration memory = Retention.memory(settings.keep(), type);
      if (memory != null && memory.compareTo(horizon) < 0) {
        warnings.add(
            ("%s: Channel '%s' forgets messages of type '%s' %s after their last completion, and"
                    + " its source %s may deliver them again for %s. A copy that comes in between"
                    + " is handled a second time. Raise keepReceipts to %s at least, or let the"
                    + " source give up earlier.")
                .formatted(
                    ErrorCode.RETENTION_TOO_SHORT.text(),
                    channel.name(),
                    type.name(),
                    memory,
                    feed.source().name(),
                    horizon,
                    horizon));
      }
    }
  }
}
