package dev.pigeonhole.jdbc;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.jdbc.internal.Migrations;
import dev.pigeonhole.jdbc.internal.Relaning;
import dev.pigeonhole.jdbc.internal.Tables;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The tables of an inbox: created and brought up to date by versioned scripts in the jar, with a
 * history of their own. Any number of processes may call {@link #migrate} at once, and one that was
 * cut is finished by the next.
 */
public final class Schema {

  static final String DEFAULT_PREFIX = Tables.DEFAULT_PREFIX;

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

  /**
   * Changes the number of lanes of an inbox with default names, see {@link #relaneOn}.
   *
   * @throws ConfigurationException if a node lives or a message is stored
   */
  public static void relane(DataSource dataSource, int lanes) {
    ofDefaults().relaneOn(dataSource, lanes);
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
   * Changes the number of lanes of an inbox that holds no message and on which no node lives;
   * handlers and their keys stay. Whoever starts afterwards has to be configured with the new
   * number. A node that starts meanwhile is seen, or refuses to start. A process that only accepts
   * and never starts its inbox cannot be seen: stop it first.
   *
   * @param lanes 1 to 4,096
   * @throws ConfigurationException if a node lives or a message is stored; nothing has changed then
   */
  public void relaneOn(DataSource dataSource, int lanes) {
    Relaning.run(dataSource, schema, prefix, lanes);
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
