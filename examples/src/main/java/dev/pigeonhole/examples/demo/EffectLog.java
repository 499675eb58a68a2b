package dev.pigeonhole.examples.demo;

import java.io.Closeable;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * An append-only file that stands for the world outside: whoever receives a receipt cannot be asked
 * to forget it. All worker processes append to one file, so its lines stand in the order in which
 * things happened. A line is one write, and on disk when {@link #append} returns; threads that
 * append at the same time share one flush.
 */
final class EffectLog implements Closeable {

  private final FileOutputStream file;
  private final Object flushing = new Object();
  private volatile long written; // changed under the monitor of `file`
  private long flushed; // guarded by `flushing`

  EffectLog(Path path) throws IOException {
    this.file = new FileOutputStream(path.toFile(), true);
  }

  void append(String handler, int order) throws IOException {
    long mine = write(handler, order);
    synchronized (flushing) {
      if (flushed < mine) {
        long everybody = written;
        file.getFD().sync();
        flushed = everybody;
      }
    }
  }

  /** Survives a kill of this process, but not a power cut: enough to count attempts. */
  void note(String handler, int order) throws IOException {
    write(handler, order);
  }

  private long write(String handler, int order) throws IOException {
    byte[] line = (handler + " " + order + "\n").getBytes(StandardCharsets.US_ASCII);
    synchronized (file) {
      file.write(line);
      long mine = written + 1;
      written = mine;
      return mine;
    }
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
