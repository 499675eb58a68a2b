package dev.pigeonhole.jdbc;

import dev.pigeonhole.jdbc.internal.Migrations;
import dev.pigeonhole.jdbc.internal.Tables;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The tables of an inbox: created and brought up to date by versioned scripts in the jar, with a
 * history of their own. Any number of processes may call {@link #migrate} at once, and one that was
 * cut is finished by the next.
 */
public final class Schema {

  static final String DEFAULT_PREFIX = "pigeonhole_";

  private final @Nullable String schema;
  private final String prefix;

  private Schema(@Nullable String schema, String prefix) {
    Tables.check(schema, prefix);
    this.schema = schema;
    this.prefix = prefix;
  }

  /** Brings the tables with default names up to date in the connection's own schema. */
  public static void migrate(DataSource dataSource) {
    ofDefaults().applyTo(dataSource);
  }

  /** The prefix {@code pigeonhole_} in the schema that the connection stands in. */
  public static Schema ofDefaults() {
    return new Schema(null, DEFAULT_PREFIX);
  }

  /** The same tables in this schema; on MariaDB that is a database. It must exist. */
  public Schema schema(String schema) {
    return new Schema(schema, prefix);
  }

  /** The same tables with another prefix, at most 41 characters. */
  public Schema prefix(String prefix) {
    return new Schema(schema, prefix);
  }

  /** Brings the tables up to date; needs the right to create them. */
  public void applyTo(DataSource dataSource) {
    Migrations.migrate(dataSource, schema, prefix);
  }

  /**
   * The statements that {@link #applyTo} would run on an empty database, for those who run them by
   * other means. Needs no connection.
   *
   * @param dialect postgresql, mariadb or h2
   */
  public String sql(String dialect) {
    return Migrations.print(dialect, schema, prefix);
  }

  /**
   * What the role needs that only runs the inbox: no right to create or alter anything.
   *
   * @param dialect postgresql, mariadb or h2
   */
  public String grants(String dialect, String role) {
    return Migrations.grants(dialect, schema, prefix, role);
  }
}
