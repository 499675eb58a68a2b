package dev.pigeonhole.support;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.ServiceLoader;
import java.util.UUID;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import javax.sql.DataSource;

/**
 * The classes of a child as a JVM has them in memory: made once, and mapped by every child instead
 * of read and checked by each, which is most of what a short life costs. The JVM takes only jars
 * into it, so directories of classes are packed for it. Wanted by {@code pigeonhole.class.archive},
 * where children are many; a child that cannot use it starts as it would have without.
 */
final class ClassArchive {
  private static final boolean WANTED = Boolean.getBoolean("pigeonhole.class.archive");

  /** They load most of their classes only when a server answers, so they are taken whole. */
  private static final Pattern TAKEN_WHOLE =
      Pattern.compile("(amqp-client|postgresql|pigeonhole-(core|jdbc))-.*");

  /** Classes do not change while tests run. */
  private static final class Place {
    static final String KEY = key();
    static final Path JARS = Binaries.cached("jars-" + KEY, ClassArchive::pack);
    static final Path ARCHIVE =
        Binaries.cached("classes-" + KEY, ClassArchive::create).resolve("jsa");
  }

  private ClassArchive() {}

  /** Loads what children will need of the libraries. */
  public static void main(String[] args) throws Exception {
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
    for (ChildClasses classes : ServiceLoader.load(ChildClasses.class)) {
      classes.use();
    }
  }

  /** The class path of this JVM, for a child. */
  static String classPath() {
    return WANTED ? packedClassPath() : System.getProperty("java.class.path");
  }

  /** What a child is started with. */
  static List<String> options() {
    return WANTED && Files.exists(Place.ARCHIVE) ? reading(Place.ARCHIVE) : List.of();
  }

  /** A JVM that the archive does not fit starts without it, and without a warning. */
  static List<String> reading(Path archive) {
    return List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:class+path=off");
  }

  /** Each directory by itself: several may have a file of the same name. */
  private static void pack(Path directory) throws IOException {
    for (String entry : entries()) {
      if (new File(entry).isDirectory()) {
        pack(Path.of(entry), directory.resolve(packed(entry)));
      }
    }
  }

  private static void pack(Path classes, Path jar) throws IOException {
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream entries = new JarOutputStream(out)) {
      entries.setLevel(Deflater.NO_COMPRESSION);
      for (Path file : files(classes)) {
        entries.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, entries);
      }
    }
  }

  private static void create(Path directory) throws IOException, InterruptedException {
    Path list = directory.resolve("list");
    int code =
        run(
            directory,
            "-XX:DumpLoadedClassList=" + list,
            "-XX:TieredStopAtLevel=1",
            "-cp",
            packedClassPath(),
            ClassArchive.class.getName());
    if (code != 0) {
      throw new IOException(Files.readString(directory.resolve("log")));
    }
    Files.write(list, classesTakenWhole(), StandardOpenOption.APPEND);
    run(
        directory,
        "-Xshare:dump",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:SharedClassListFile=" + list,
        "-XX:SharedArchiveFile=" + directory.resolve("jsa"),
        "-cp",
        packedClassPath());
  }

  private static List<String> classesTakenWhole() throws IOException {
    List<String> names = new ArrayList<>();
    for (String jar : packedClassPath().split(File.pathSeparator)) {
      Path path = Path.of(jar);
      if (path.startsWith(Place.JARS)
          || TAKEN_WHOLE.matcher(path.getFileName().toString()).matches()) {
        try (JarFile file = new JarFile(jar)) {
          file.stream()
              .map(JarEntry::getName)
              .filter(name -> name.matches("(com|dev|org)/.*[.]class"))
              .map(name -> name.substring(0, name.length() - ".class".length()))
              .forEach(names::add);
        }
      }
    }
    return names;
  }

  private static int run(Path directory, String... options)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(Arrays.asList(options));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(directory.resolve("log").toFile())
        .start()
        .waitFor();
  }

  private static List<String> entries() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(entry -> new File(entry).exists())
        .toList();
  }

  private static String packedClassPath() {
    return entries().stream()
        .map(
            entry ->
                new File(entry).isDirectory()
                    ? Place.JARS.resolve(packed(entry)).toString()
                    : entry)
        .collect(Collectors.joining(File.pathSeparator));
  }

  private static String packed(String directory) {
    return entries().indexOf(directory) + ".jar";
  }

  private static List<Path> files(Path directory) {
    try (Stream<Path> all = Files.walk(directory)) {
      return all.filter(Files::isRegularFile).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Others for another JVM, and for another state of the classes. */
  private static String key() {
    StringBuilder text = new StringBuilder(System.getProperty("java.vm.version"));
    for (String entry : entries()) {
      for (Path file : files(Path.of(entry))) {
        text.append(file).append(file.toFile().length()).append(file.toFile().lastModified());
      }
    }
    return UUID.nameUUIDFromBytes(text.toString().getBytes(StandardCharsets.UTF_8)).toString();
  }
}
