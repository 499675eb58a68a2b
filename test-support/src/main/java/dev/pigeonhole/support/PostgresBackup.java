package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;

/**
 * The data directory of a running PostgreSQL, copied the way its manual describes for programs of
 * one's own: the bundle has no {@code pg_basebackup}.
 */
final class PostgresBackup {

  /** Directories whose content belongs to the running server alone. */
  private static final Set<String> LEFT_EMPTY =
      Set.of("pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots");

  private static final Set<String> LEFT_OUT = Set.of("postmaster.pid", "postmaster.opts");

  private PostgresBackup() {}

  /** Copies the server's data for a standby that is about to start. */
  static void take(PostgresServer server, Path data) {
    boolean old = server.version().startsWith("14.");
    String start = old ? "pg_start_backup('b', true, false)" : "pg_backup_start('b', true)";
    String stop = old ? "pg_stop_backup(false, false)" : "pg_backup_stop(false)";
    // The session that begins a backup has to end it.
    try (Connection session = server.dataSource().getConnection();
        Statement statement = session.createStatement()) {
      statement.execute("SELECT " + start);
      copy(server.data(), data);
      try (ResultSet label = statement.executeQuery("SELECT labelfile FROM " + stop)) {
        label.next();
        Files.writeString(data.resolve("backup_label"), label.getString(1));
      }
      Files.createFile(data.resolve("standby.signal"));
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot copy " + server, e);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot copy " + server, e);
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes any)
              throws IOException {
            place(directory);
            return LEFT_EMPTY.contains(directory.getFileName().toString())
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes any) throws IOException {
            if (!LEFT_OUT.contains(file.getFileName().toString())) {
              place(file);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE; // the server has removed it meanwhile
            }
            throw e;
          }

          private void place(Path source) throws IOException {
            try {
              Files.copy(
                  source, to.resolve(from.relativize(source)), StandardCopyOption.COPY_ATTRIBUTES);
            } catch (NoSuchFileException e) {
              // As above.
            }
          }
        });
  }
}
