package dev.pigeonhole.micrometer;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A database with the tables of an inbox and of an outbox, and the short words of these tests. */
final class Shop {
  /** Orders as their ids. */
  static final PayloadCodec CODEC = new OrderCodec();

  final HikariDataSource pool;
  final JdbcStore store;

  private Shop(TestDatabase database) {
    database.prepare(
        "inbox and outbox",
        it -> {
          Schema.migrate(it.dataSource());
          Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(it.dataSource());
        });
    this.pool = database.pool(24);
    this.store = JdbcStore.of(pool).beatsOn(database.dataSource());
  }

  static Shop in(TestDatabase database) {
    return new Shop(database);
  }

  /** Closed by JUnit, as arguments of tests are. */
  static List<TestDatabase> databases() {
    return List.of(TestDatabases.open(DatabaseKind.H2), TestDatabases.open(DatabaseKind.POSTGRES));
  }

  interface Work {
    void in(Connection connection) throws Exception;
  }

  void commit(Work work) {
    try (Connection connection = pool.getConnection()) {
      connection.setAutoCommit(false);
      try {
        work.in(connection);
        connection.commit();
      } finally {
        connection.rollback();
        connection.setAutoCommit(true);
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static final class OrderCodec implements PayloadCodec {
    @Override
    public String contentType() {
      return "text/plain";
    }

    @Override
    public byte[] encode(Object payload) {
      return ((OrderPlaced) payload).id().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      String id = new String(content == null ? new byte[0] : content, StandardCharsets.UTF_8);
      return type.cast(new OrderPlaced(id));
    }
  }
}
