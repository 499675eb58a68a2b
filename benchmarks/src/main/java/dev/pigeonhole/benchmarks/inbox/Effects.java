package dev.pigeonhole.benchmarks.inbox;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What handlers write where they write something: a row of their own, or one of a few counters. */
public final class Effects {

  /** A row for each message, in a table without any key. */
  public static final String INSERT = "INSERT INTO effect (id) VALUES (?)";

  private static final String COUNT_UP = "UPDATE counter SET n = n + 1 WHERE id = ?";

  private Effects() {}

  public static void create(Connection connection, int counters) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE effect (id varchar(200))");
      statement.execute("CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL)");
      for (int i = 0; i < counters; i++) {
        statement.execute("INSERT INTO counter (id, n) VALUES (%d, 0)".formatted(i));
      }
    }
  }

  public static void insert(Connection connection, String id) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
      statement.setString(1, id);
      statement.executeUpdate();
    }
  }

  public static void countUp(Connection connection, int counter) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(COUNT_UP)) {
      statement.setInt(1, counter);
      statement.executeUpdate();
    }
  }

  /** Each message has left its effect, once. */
  public static void check(Connection connection, int messages, int counters) throws SQLException {
    if (counters > 0) {
      check("counted", messages, ask(connection, "SELECT sum(n) FROM counter"));
    } else {
      check("effects", messages, ask(connection, "SELECT count(*) FROM effect"));
      check("different", messages, ask(connection, "SELECT count(DISTINCT id) FROM effect"));
    }
  }

  private static void check(String what, long wanted, long found) {
    if (found != wanted) {
      throw new IllegalStateException("%s: %d instead of %d".formatted(what, found, wanted));
    }
  }

  private static long ask(Connection connection, String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getLong(1);
    }
  }
}
