package dev.pigeonhole.examples.orders.plain;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the command line says: {@code --port=8080 --url=jdbc:postgresql://localhost/shop …}. */
record Settings(int port, String url, String user, String password, double stockPerSecond) {
  private static final List<String> NAMES =
      List.of("port", "url", "user", "password", "stock-per-second");

  // By default H2 writes half a second after a commit, and a crash would lose that; and it closes
  // itself as soon as the JVM is told to stop, while handlers still need it.
  private static final String URL =
      "jdbc:h2:file:./target/orders;WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE";

  static Settings of(String... args) {
    Map<String, String> given = new HashMap<>();
    for (String arg : args) {
      String[] parts = arg.replaceFirst("^--", "").split("=", 2);
      if (parts.length != 2 || !NAMES.contains(parts[0])) {
        throw new IllegalArgumentException(
            "What does '%s' mean? Say --name=value, with one of %s.".formatted(arg, NAMES));
      }
      given.put(parts[0], parts[1]);
    }
    return new Settings(
        Integer.parseInt(given.getOrDefault("port", "8080")),
        given.getOrDefault("url", URL),
        given.getOrDefault("user", ""),
        given.getOrDefault("password", ""),
        Double.parseDouble(given.getOrDefault("stock-per-second", "1000")));
  }
}
