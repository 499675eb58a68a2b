package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Unpacks something once per checkout. Two JVMs may ask at once: a file lock makes the second one
 * wait, and the rename at the end means that a half-unpacked directory never carries the final
 * name, not even after a {@code kill -9}.
 */
final class Binaries {

  /** Fills an empty directory. */
  @FunctionalInterface
  interface Unpacker {
    void unpackInto(Path directory) throws IOException, InterruptedException;
  }

  private Binaries() {}

  // The file lock excludes other JVMs, the monitor the threads of this one.
  static synchronized Path cached(String key, Unpacker unpacker) {
    Path home = Scratch.cache().resolve(key);
    if (Files.isDirectory(home)) {
      return home;
    }
    Path lockFile = Scratch.cache().resolve(key + ".lock");
    try (FileChannel channel =
            FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = channel.lock()) {
      if (!Files.isDirectory(home)) {
        unpack(home, unpacker);
      }
      return home;
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot unpack " + home, e);
    }
  }

  private static void unpack(Path home, Unpacker unpacker) throws IOException {
    Path unfinished = home.resolveSibling(home.getFileName() + ".part");
    Scratch.delete(unfinished);
    Files.createDirectory(unfinished);
    try {
      unpacker.unpackInto(unfinished);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("Interrupted while unpacking", e);
    }
    Files.move(unfinished, home, StandardCopyOption.ATOMIC_MOVE);
  }
}
