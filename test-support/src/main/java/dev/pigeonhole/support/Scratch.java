package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Where data directories and unpacked binaries live. The former are below {@code java.io.tmpdir},
 * which Maven points into {@code target}. The latter are large and the same for every module, so
 * they stay in the temporary directory of the machine, one directory per user.
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

  /** Shared by all JVMs of this user, and kept. */
  static Path cache() {
    Path machine = Path.of(Objects.requireNonNullElse(System.getenv("TMPDIR"), "/tmp"));
    Path cache = machine.resolve("pigeonhole-cache-" + System.getProperty("user.name"));
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
