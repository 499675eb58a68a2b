package dev.pigeonhole.benchmarks;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The databases that everything can run on. */
enum Store {
  POSTGRES,
  MARIADB,
  H2;

  String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The one that a server at this URL is; null for what is no server that we know. */
  static @Nullable Store behind(String url) {
    if (url.startsWith("jdbc:postgresql:")) {
      return POSTGRES;
    }
    return url.startsWith("jdbc:mariadb:") ? MARIADB : null;
  }
}
