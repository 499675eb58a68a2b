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
 * Where data directories and unpacked binaries live: one directory per user below {@code
 * java.io.tmpdir}, with short names, because the path of a Unix socket ends at 107 bytes.
 */
final class Scratch {

  private static final Path ROOT =
      Path.of(System.getProperty("java.io.tmpdir"), "pigeonhole-" + System.getProperty("user.name"));

  private Scratch() {}

  /** A fresh directory that only its creator uses and deletes. */
  static Path directory(String prefix) {
    try {
      return Files.createTempDirectory(Files.createDirectories(ROOT.resolve("run")), prefix + "-");
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot create a directory below " + ROOT, e);
    }
  }

  /** Shared by all JVMs of this user, and kept. */
  static Path cache() {
    try {
      return Files.createDirectories(ROOT.resolve("cache"));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot create a directory below " + ROOT, e);
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
