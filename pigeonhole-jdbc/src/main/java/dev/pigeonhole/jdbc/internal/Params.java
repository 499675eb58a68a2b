package dev.pigeonhole.jdbc.internal;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Binds one value after the other, so that the order of the calls is the order of the columns. */
final class Params {

  /** Binds the values of a statement, or of one of its rows. */
  @FunctionalInterface
  interface Binder<R> {
    void bind(Params params, R row) throws SQLException;
  }

  private final Dialect dialect;
  private final PreparedStatement statement;
  private int last;

  Params(Dialect dialect, PreparedStatement statement) {
    this.dialect = dialect;
    this.statement = statement;
  }

  /** Starts again at the first value, for the next row of a batch. */
  void rewind() {
    last = 0;
  }

  Params add(int value) throws SQLException {
    statement.setInt(++last, value);
    return this;
  }

  Params add(long value) throws SQLException {
    statement.setLong(++last, value);
    return this;
  }

  Params add(@Nullable Long value) throws SQLException {
    if (value == null) {
      statement.setNull(++last, Types.BIGINT);
    } else {
      statement.setLong(++last, value);
    }
    return this;
  }

  Params add(boolean value) throws SQLException {
    statement.setBoolean(++last, value);
    return this;
  }

  Params add(@Nullable String value) throws SQLException {
    statement.setString(++last, value);
    return this;
  }

  Params add(byte @Nullable [] value) throws SQLException {
    if (value == null) {
      statement.setNull(++last, Types.VARBINARY);
    } else {
      statement.setBytes(++last, value);
    }
    return this;
  }

  Params add(@Nullable Instant value) throws SQLException {
    dialect.bind(statement, ++last, value);
    return this;
  }

  Params array(String type, @Nullable Object[] values) throws SQLException {
    statement.setArray(++last, statement.getConnection().createArrayOf(type, values));
    return this;
  }
}
