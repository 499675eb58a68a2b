package dev.pigeonhole.examples.orders.plain;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the command line says: {@code --port=8080 --url=jdbc:postgresql://localhost/shop …}. */
record Settings(int port, String url, String user, String password, double stockPerSecond) {
  private static final List<String> NAMES =
      List.of("port", "url", "user", "password", "stock-per-second");

  // By default H2 writes half a second after a commit; a crash would lose that.
  private static final String URL = "jdbc:h2:file:./target/orders;WRITE_DELAY=0";

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
