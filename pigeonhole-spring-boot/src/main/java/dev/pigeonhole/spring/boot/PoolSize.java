package dev.pigeonhole.spring.boot;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.OptionalInt;
import javax.sql.DataSource;
import org.springframework.util.ClassUtils;

/** How many connections a pool has, where it tells. */
final class PoolSize {
  private static final boolean HIKARI =
      ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", PoolSize.class.getClassLoader());

  private PoolSize() {}

  static OptionalInt of(DataSource dataSource) {
    return HIKARI ? Hikari.of(dataSource) : OptionalInt.empty();
  }

  /** Loaded only where there is one. */
  private static final class Hikari {
    static OptionalInt of(DataSource dataSource) {
      try {
        return dataSource.isWrapperFor(HikariDataSource.class)
            ? OptionalInt.of(dataSource.unwrap(HikariDataSource.class).getMaximumPoolSize())
            : OptionalInt.empty();
      } catch (SQLException e) {
        return OptionalInt.empty();
      }
    }
  }
}
