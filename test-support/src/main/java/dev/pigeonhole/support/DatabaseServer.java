package dev.pigeonhole.support;

import javax.sql.DataSource;

/**
 * A database server with a process of its own, set up as durable as in production, that can be
 * stopped, crashed, paused and brought back on the same port and data.
 */
public interface DatabaseServer extends AutoCloseable {

  DatabaseKind kind();

  /** The version that the server reports, for example {@code 18.6}. */
  String version();

  /** What the running server says about one of its settings. */
  String setting(String name);

  int port();

  /** The process of the server; on PostgreSQL the parent of all the others. */
  long pid();

  /** Leads to the maintenance database; tests work in an {@link #emptySchema()}. */
  String jdbcUrl();

  String user();

  String password();

  /** Opens a new connection each time; nothing is pooled. */
  DataSource dataSource();

  /** A new, empty place for the tables of one test. */
  TestDatabase emptySchema();

  /** Ends all sessions and shuts down in order, as an operator would. */
  void stopFast();

  /** Kills every process of the server at once, without a warning. */
  void crash();

  /** Starts the server again after {@link #stopFast} or {@link #crash}; crashes it if it runs. */
  void restart();

  /** Freezes all processes of the server: connections stay open, and nobody answers. */
  void pause();

  void resume();

  /** Kills the server and deletes its data, unless it is the shared one. */
  @Override
  void close();
}
