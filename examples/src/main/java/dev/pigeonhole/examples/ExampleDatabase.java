package dev.pigeonhole.examples;

import com.zaxxer.hikari.HikariDataSource;

/** The database of an example: a file of H2 that survives the process. */
final class ExampleDatabase {

  private ExampleDatabase() {}

  static HikariDataSource open(String file) {
    HikariDataSource pool = new HikariDataSource();
    // H2 flushes half a second after a commit unless told otherwise; a crash would lose that.
    pool.setJdbcUrl("jdbc:h2:file:" + file + ";WRITE_DELAY=0");
    pool.setMaximumPoolSize(16);
    return pool;
  }

  /** The file named by the first argument, or one below {@code target}. */
  static HikariDataSource open(String[] args, String name) {
    return open(args.length > 0 ? args[0] : "./target/examples/" + name);
  }
}
