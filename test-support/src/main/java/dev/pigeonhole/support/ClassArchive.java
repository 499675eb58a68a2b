package dev.pigeonhole.support;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/**
 * The classes of all libraries as a JVM has them in memory: made once, and mapped by every child
 * instead of read and checked by each, which is a quarter of what a short life costs. The JVM takes
 * only jars into it, so those come first on the class path. Wanted by {@code
 * pigeonhole.class.archive}, where children are many; a child that cannot use it starts as it would
 * have without.
 */
final class ClassArchive {
  private static final String WANTED = "pigeonhole.class.archive";

  private ClassArchive() {}

  /** Loads what children will need. */
  public static void main(String[] args) throws SQLException {
    try (TestDatabase database = H2Database.memory()) {
      DataSource pool = database.pool(1);
      try (Connection connection = pool.getConnection()) {
        connection.prepareStatement("SELECT 1").executeQuery();
      }
    }
    for (String url : List.of("jdbc:postgresql://127.0.0.1:1/x", "jdbc:mariadb://127.0.0.1:1/x")) {
      try (Connection connection = DriverManager.getConnection(url)) {
        throw new IllegalStateException(url + " answers: " + connection);
      } catch (SQLException e) {
        continue; // nobody is there, and the driver has been loaded
      }
    }
  }

  /** The class path of this JVM, for a child. */
  static String classPath() {
    return join(entries(true)) + File.pathSeparator + join(entries(false));
  }

  /** What a child is started with. */
  static List<String> options() {
    if (!Boolean.getBoolean(WANTED)) {
      return List.of();
    }
    List<String> jars = entries(true);
    Path archive = Binaries.cached("classes-" + key(jars), ClassArchive::create).resolve("jsa");
    return Files.exists(archive)
        ? List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:class+path=off")
        : List.of();
  }

  private static void create(Path directory) throws IOException, InterruptedException {
    String classes = "-XX:%s=" + directory.resolve("list");
    run(
        directory,
        classes.formatted("DumpLoadedClassList"),
        "-cp",
        classPath(),
        ClassArchive.class.getName());
    run(
        directory,
        "-Xshare:dump",
        "-XX:+UseSerialGC",
        classes.formatted("SharedClassListFile"),
        "-XX:SharedArchiveFile=" + directory.resolve("jsa"),
        "-cp",
        join(entries(true)));
  }

  private static void run(Path directory, String... options)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(Arrays.asList(options));
    new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(directory.resolve("log").toFile())
        .start()
        .waitFor();
  }

  private static List<String> entries(boolean jars) {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(entry -> entry.endsWith(".jar") == jars)
        .toList();
  }

  private static String join(List<String> entries) {
    return String.join(File.pathSeparator, entries);
  }

  /** Others for another JVM, and for another state of the jars. */
  private static String key(List<String> jars) {
    String text =
        jars.stream()
            .map(jar -> jar + new File(jar).lastModified())
            .collect(Collectors.joining(":", System.getProperty("java.vm.version"), ""));
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8)).toString();
  }
}
