package dev.pigeonhole.support;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;

/**
 * An append-only file of lines, the memory of a test about what really happened. A line is on disk
 * when {@link #append} returns, so it outlives a kill of the process that wrote it. One process
 * writes a ledger at a time; threads share it.
 *
 * <p>Threads that append at the same time share one flush: a line is first written under the lock
 * of the file, then its thread queues for the lock of the flush, and whoever gets that one flushes
 * for everybody who has written by then.
 */
public final class Ledger implements Closeable {

  // Not a FileChannel: an interrupt of one appending thread would close it for all the others.
  private final RandomAccessFile file;
  private final Object flushLock = new Object();
  private volatile long written; // changed under the monitor of `file`
  private long flushed; // guarded by flushLock

  private Ledger(RandomAccessFile file) {
    this.file = file;
  }

  /** Opens or creates the file; a torn last line of a former life is removed. */
  public static Ledger open(Path path) {
    try {
      RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw");
      long end = endOfLastWholeLine(Files.readAllBytes(path));
      file.setLength(end);
      file.seek(end);
      file.getFD().sync();
      flushDirectoryOf(path);
      return new Ledger(file);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot open the ledger " + path, e);
    }
  }

  /** Adds one line and returns when it is durable. */
  public void append(String line) {
    if (line.indexOf('\n') >= 0) {
      throw new IllegalArgumentException("A line of the ledger has no line break: " + line);
    }
    try {
      flush(write((line + "\n").getBytes(StandardCharsets.UTF_8)));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot append to the ledger", e);
    }
  }

  private long write(byte[] line) throws IOException {
    synchronized (file) {
      file.write(line);
      long mine = written + 1;
      written = mine;
      return mine;
    }
  }

  private void flush(long mine) throws IOException {
    synchronized (flushLock) {
      if (flushed >= mine) {
        return;
      }
      long everybody = written;
      file.getFD().sync();
      flushed = everybody;
    }
  }

  /** All whole lines; what a crash left of a last one is ignored, as nobody was told of it. */
  public static List<String> read(Path path) {
    try {
      byte[] bytes = Files.readAllBytes(path);
      String text = new String(bytes, 0, endOfLastWholeLine(bytes), StandardCharsets.UTF_8);
      return text.isEmpty() ? List.of() : Arrays.asList(text.split("\n"));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read the ledger " + path, e);
    }
  }

  private static int endOfLastWholeLine(byte[] bytes) {
    int end = bytes.length;
    while (end > 0 && bytes[end - 1] != '\n') {
      end--;
    }
    return end;
  }

  /** Otherwise a power cut could forget the file itself. */
  private static void flushDirectoryOf(Path path) throws IOException {
    Path directory = path.toAbsolutePath().getParent();
    if (directory != null) {
      try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
        channel.force(true);
      }
    }
  }

  @Override
  public void close() {
    try {
      file.close();
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot close the ledger", e);
    }
  }
}
