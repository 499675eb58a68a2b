package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * Where data directories and unpacked binaries live. The former are below {@code java.io.tmpdir},
 * which Maven points into the {@code target} of the module. The latter are large and the same for
 * every module, so they are kept in the {@code target} of the whole project, which {@code
 * pigeonhole.servers} names; an IDE that does not know it uses the temporary directory.
 */
final class Scratch {

  private Scratch() {}

  /** A fresh directory that only its creator uses and deletes. */
  static Path directory(String prefix) {
    try {
      Path parent = Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir")));
      return Files.createTempDirectory(parent.toAbsolutePath(), "pigeonhole-" + prefix + "-");
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot create a temporary directory", e);
    }
  }

  /** Shared by all JVMs of this checkout, and kept. */
  static Path cache() {
    String given = System.getProperty("pigeonhole.servers");
    Path cache =
        given != null
            ? Path.of(given)
            : Path.of(System.getProperty("java.io.tmpdir"), "pigeonhole-servers");
    try {
      return Files.createDirectories(cache);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot create " + cache, e);
    }
  }

  static void delete(Path directory) {
    try (Stream<Path> paths = Files.walk(directory)) {
      List<Path> deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
      for (Path path : deepestFirst) {
        Files.deleteIfExists(path);
      }
    } catch (NoSuchFileException e) {
      // Gone already: the shutdown hook and a test may both clean up.
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot delete " + directory, e);
    }
  }
}
