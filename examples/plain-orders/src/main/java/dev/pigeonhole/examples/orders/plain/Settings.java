package dev.pigeonhole.examples.orders.plain;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the command line says: {@code --port=8080 --url=jdbc:postgresql://localhost/shop …}. */
record Settings(int port, String url, String user, String password, double stockPerSecond) {
  static final String USAGE =
      """
      Usage: examples/plain-orders/run [--NAME=VALUE]...

        --port=8080                         where it listens, on this machine only
        --url=jdbc:postgresql://host/shop   the database; without it, a file below target
        --user=NAME --password=WORD         who it is there
        --stock-per-second=1000             how fast stock is reserved""";

  private static final List<String> NAMES =
      List.of("port", "url", "user", "password", "stock-per-second");

  // By default H2 writes half a second after a commit, and a crash would lose that; and it closes
  // itself as soon as the JVM is told to stop, while handlers still need it.
  private static final String URL =
      "jdbc:h2:file:./target/orders;WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE";

  /**
   * @throws IllegalArgumentException saying what cannot be used
   */
  static Settings of(String... args) {
    Map<String, String> given = new HashMap<>();
    for (String arg : args) {
      String[] parts = arg.replaceFirst("^--", "").split("=", 2);
      if (parts.length != 2 || !NAMES.contains(parts[0])) {
        throw new IllegalArgumentException(
            "there is no setting '%s'; say --name=value, with one of %s".formatted(arg, NAMES));
      }
      given.put(parts[0], parts[1]);
    }
    return new Settings(
        port(given.getOrDefault("port", "8080")),
        given.getOrDefault("url", URL),
        given.getOrDefault("user", ""),
        given.getOrDefault("password", ""),
        rate(given.getOrDefault("stock-per-second", "1000")));
  }

  private static int port(String text) {
    if (!text.matches("\\d{1,5}") || Integer.parseInt(text) > 65_535) {
      throw new IllegalArgumentException(
          "--port needs a number from 0 to 65535, not '%s'".formatted(text));
    }
    return Integer.parseInt(text);
  }

  private static double rate(String text) {
    if (!text.matches("\\d{1,6}(\\.\\d+)?") || Double.parseDouble(text) == 0) {
      throw new IllegalArgumentException(
          "--stock-per-second needs a number above 0, not '%s'".formatted(text));
    }
    return Double.parseDouble(text);
  }
}
