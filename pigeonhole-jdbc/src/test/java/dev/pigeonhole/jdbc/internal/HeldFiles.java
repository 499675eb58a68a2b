package dev.pigeonhole.jdbc.internal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.util.concurrent.CountDownLatch;
import org.h2.store.fs.FileBase;
import org.h2.store.fs.FilePathWrapper;

/**
 * Files of H2, as {@code jdbc:h2:held:…}, whose writes wait while they are held: in the midst of
 * the end of a transaction. Public, as H2 creates one for every path.
 */
public final class HeldFiles extends FilePathWrapper {
  static final HeldFiles SCHEME = new HeldFiles();

  static volatile CountDownLatch reached = new CountDownLatch(0);
  static volatile CountDownLatch released = new CountDownLatch(0);

  static void hold() {
    released = new CountDownLatch(1);
    reached = new CountDownLatch(1);
  }

  @Override
  public String getScheme() {
    return "held";
  }

  @Override
  public FileChannel open(String mode) throws IOException {
    FileChannel file = super.open(mode);
    return new FileBase() {
      @Override
      public int write(ByteBuffer source, long position) throws IOException {
        reached.countDown();
        try {
          released.await();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
        return file.write(source, position);
      }

      @Override
      public int read(ByteBuffer target, long position) throws IOException {
        return file.read(target, position);
      }

      @Override
      public int read(ByteBuffer target) throws IOException {
        return file.read(target);
      }

      @Override
      public int write(ByteBuffer source) throws IOException {
        return file.write(source);
      }

      @Override
      public long position() throws IOException {
        return file.position();
      }

      @Override
      public FileChannel position(long position) throws IOException {
        return file.position(position);
      }

      @Override
      public long size() throws IOException {
        return file.size();
      }

      @Override
      public FileChannel truncate(long size) throws IOException {
        return file.truncate(size);
      }

      @Override
      public FileLock tryLock(long position, long size, boolean shared) throws IOException {
        return file.tryLock(position, size, shared);
      }

      @Override
      protected void implCloseChannel() throws IOException {
        file.close();
      }
    };
  }
}
